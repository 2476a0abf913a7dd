//! A UDP socket between two ends of a connection: datagrams with their ECN code points, one at a time.

use crate::netns::NetNs;
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_recv_buffer_size_force};
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, SocketAddrV4, UdpSocket};
use units::Span;

/// Datagrams received at once.
const BATCH: usize = 16;
/// Space for each: the kernel may hand over several of a flow in one piece (GRO).
const LONGEST: usize = 1 << 16;
/// Most that waits in the socket, bytes of the kernel's memory: hosts of the simulator lose nothing.
const RECEIVE_BUFFER: usize = 16 << 20;
/// The longest wait, so that threads see the end of the run.
pub const WAIT_MAX: Span = Span::from_ms(50);

/// See the module documentation.
pub struct Socket {
    socket: UdpSocket,
    state: UdpSocketState,
    peer: SocketAddr,
    arrivals: Vec<u8>,
    /// A datagram that the kernel had no room for, and its code point.
    held: Option<(Vec<u8>, u8)>,
}

impl Socket {
    /// A socket at `own`, in the namespace of this thread.
    pub fn new(own: SocketAddrV4, peer: SocketAddrV4) -> io::Result<Socket> {
        let socket = UdpSocket::bind(own)?;
        // Beyond the machine's limit (`rmem_max`) where this process administers the network.
        set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER)
            .or_else(|_| set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER))?;
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Socket {
            socket,
            state,
            peer: peer.into(),
            arrivals: vec![0; BATCH * LONGEST],
            held: None,
        })
    }

    /// Sends what is held; whether there is room for more.
    pub fn has_room(&mut self) -> io::Result<bool> {
        match self.held.take() {
            None => Ok(true),
            Some((bytes, ecn)) => self.send(&bytes, ecn).map(|()| self.held.is_none()),
        }
    }

    /// Sends a datagram, or holds it until there is room.
    pub fn send(&mut self, bytes: &[u8], ecn: u8) -> io::Result<()> {
        let transmit = Transmit {
            destination: self.peer,
            ecn: EcnCodepoint::from_bits(ecn),
            contents: bytes,
            segment_size: None,
            src_ip: None,
        };
        match self.state.try_send((&self.socket).into(), &transmit) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.held = Some((bytes.into(), ecn));
                Ok(())
            }
            done => done,
        }
    }

    /// Takes all datagrams that have come.
    pub fn receive(&mut self, mut take: impl FnMut(&[u8], u8)) -> io::Result<()> {
        loop {
            let mut meta = [RecvMeta::default(); BATCH];
            let mut pieces: Vec<_> =
                self.arrivals.chunks_mut(LONGEST).map(IoSliceMut::new).collect();
            let count = match self.state.recv((&self.socket).into(), &mut pieces, &mut meta) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                done => done?,
            };
            for (meta, piece) in meta.iter().zip(&pieces).take(count) {
                let ecn = meta.ecn.map_or(0, |code| code as u8);
                let datagrams = piece[..meta.len].chunks(meta.stride.max(1));
                datagrams.for_each(|datagram| take(datagram, ecn));
            }
            if count < BATCH {
                return Ok(());
            }
        }
    }

    /// Waits until something comes, there is room for what is held, or the time is over.
    pub fn wait(&self, timeout: Span) {
        let room = if self.held.is_some() { PollFlags::OUT } else { PollFlags::empty() };
        let mut files = [PollFd::new(&self.socket, PollFlags::IN | room)];
        let ns = timeout.min(WAIT_MAX).as_ns() as i64;
        // Whatever ends it, the loop looks again.
        let _ = poll(&mut files, Some(&Timespec { tv_sec: 0, tv_nsec: ns }));
    }
}

/// Datagrams that UDP sockets in `netns` had no room for.
pub fn overflows(netns: &NetNs) -> u64 {
    let text = netns.within(|| std::fs::read_to_string("/proc/thread-self/net/snmp"));
    receive_errors(&text.unwrap_or_default())
}

/// `RcvbufErrors` of a table with a line of names and a line of values for each protocol.
fn receive_errors(table: &str) -> u64 {
    let mut lines = table.lines().filter(|line| line.starts_with("Udp:"));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    let mut both = names.split_whitespace().zip(values.split_whitespace());
    both.find(|one| one.0 == "RcvbufErrors").and_then(|one| one.1.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn the_kernels_table_is_read_by_the_names_of_its_columns() {
        let table = "Ip: Forwarding InReceives\nIp: 1 99\nUdp: InDatagrams NoPorts InErrors OutDatagrams \
                     RcvbufErrors SndbufErrors\nUdp: 9 8 7 6 5 4\nUdpLite: RcvbufErrors\nUdpLite: 3\n";
        assert_eq!((receive_errors(table), receive_errors("")), (5, 0));
    }

    #[test]
    fn datagrams_arrive_whole_in_order_with_their_code_points() {
        let at = |port| SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
        let free = || UdpSocket::bind(at(0)).and_then(|one| one.local_addr()).expect("a port");
        let ports = [free().port(), free().port()];
        let [mut near, mut far] = [(0, 1), (1, 0)]
            .map(|(own, peer)| Socket::new(at(ports[own]), at(ports[peer])).expect("free ports"));
        for i in 0..40_u8 {
            assert!(near.has_room().expect("open"));
            near.send(&[i; 1200], i % 4).expect("sent");
        }
        let mut got = Vec::new();
        while got.len() < 40 {
            far.wait(WAIT_MAX);
            let count = got.len();
            far.receive(|bytes, ecn| got.push((bytes.len(), bytes[0], ecn))).expect("open");
            assert!(got.len() > count, "{count} of 40 came");
        }
        let wanted: Vec<_> = (0..40_u8).map(|i| (1200, i, i % 4)).collect();
        assert_eq!(got, wanted);
    }
}
