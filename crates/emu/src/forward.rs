//! Connections from behind the path to the network of the machine: a port of the far end stands for a
//! server anywhere. The far end's kernel accepts them, so the path carries its TCP.

use crate::netns::NetNs;
use crate::{Context, EmuError};
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::str::FromStr;
use std::thread;

/// `PORT=HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward {
    port: u16,
    server: String,
}

impl FromStr for Forward {
    type Err = EmuError;

    fn from_str(text: &str) -> Result<Forward, EmuError> {
        let parsed = text.split_once('=').and_then(|(port, server)| {
            let (host, server_port) = server.rsplit_once(':')?;
            server_port.parse::<u16>().ok().filter(|_| !host.is_empty())?;
            Some(Forward { port: port.parse().ok()?, server: server.into() })
        });
        parsed.ok_or_else(|| EmuError::Unsupported {
            key: "--forward".into(),
            got: text.into(),
            wanted: "PORT=HOST:PORT".into(),
        })
    }
}

impl Forward {
    /// Listens at the far end until this process ends.
    pub fn start(self, far: &NetNs) -> Result<(), EmuError> {
        let at = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, self.port);
        let listener =
            far.within(|| TcpListener::bind(at)).context(|| format!("port {}", self.port))?;
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = self.server.clone();
                // A server that cannot be reached closes the connection, as a refusal would.
                thread::spawn(move || TcpStream::connect(server).and_then(|to| join(&client, &to)));
            }
        });
        Ok(())
    }
}

/// Copies both ways until both have ended.
fn join(client: &TcpStream, server: &TcpStream) -> io::Result<()> {
    thread::scope(|scope| {
        scope.spawn(|| one_way(client, server));
        one_way(server, client)
    })
}

fn one_way(mut from: &TcpStream, mut to: &TcpStream) -> io::Result<()> {
    let copied = io::copy(&mut from, &mut to);
    // The other side may have closed already.
    let _ = to.shutdown(Shutdown::Write);
    copied.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_and_a_server_are_read_and_anything_else_is_refused() {
        let forward: Forward = "8080=example.org:80".parse().expect("well formed");
        assert_eq!(forward, Forward { port: 8080, server: "example.org:80".into() });
        for text in
            ["8080", "8080=example.org", "x=example.org:80", "8080=:80", "8080=a:b", "99999=a:1"]
        {
            let error = text.parse::<Forward>().expect_err(text).to_string();
            assert!(error.contains("wanted PORT=HOST:PORT"), "{error}");
        }
    }
}
