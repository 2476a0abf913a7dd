//! The first process of a virtual machine (`tools/vm-kernels.sh`): loads every controller that is built in into the kernel
//! that it finds itself in, says how that went on the console, sends through those named in `flows=` on the kernel's command
//! line, and switches the machine off. Its last line is `RESULT LOADED OF ALL, FLOWS flows, RELEASE`.

use std::ffi::CStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;

use bpf::{Name, Object};

/// Payload of a flow over the loopback, bytes.
const PAYLOAD: usize = 8 << 20;

fn main() {
    mount(c"proc", c"/proc");
    mount(c"sysfs", c"/sys");
    mount(c"bpf", c"/sys/fs/bpf");
    raise_loopback().unwrap_or_else(|e| println!("FAILED loopback: {e}"));
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let line = fs::read_to_string("/proc/cmdline").unwrap_or_default();
    let wanted = line.split_whitespace().find_map(|word| word.strip_prefix("flows="));
    let wanted: Vec<&str> = wanted.unwrap_or("").split(',').collect();
    let (mut loaded, mut carried, mut all) = (0, 0, 0);
    for name in Object::built_in() {
        all += 1;
        match load(name, wanted.contains(&name)) {
            Ok(has_carried) => {
                loaded += 1;
                carried += u32::from(has_carried);
                println!("LOADED {name}{}", if has_carried { ", carried a flow" } else { "" });
            }
            Err(why) => println!("FAILED {name}: {why}"),
        }
    }
    println!("RESULT {loaded} of {all}, {carried} flows, {}", release.trim());
    // SAFETY: the first process may; nothing else runs.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_POWER_OFF);
    }
}

/// Registers, asks for its status, sends where that is wanted, and unloads; whether it has sent.
fn load(name: &str, has_flow: bool) -> Result<bool, String> {
    let object = Object::find(name).map_err(|e| e.to_string())?;
    let controller = bpf::load(&object, &[], Name::Own).map_err(|e| e.to_string())?;
    let kernel_name = controller.kernel_name().to_owned();
    bpf::status(Some(&kernel_name)).map_err(|e| e.to_string())?;
    if has_flow {
        send(&kernel_name).map_err(|e| format!("a flow: {e}"))?;
    }
    drop(controller);
    let left = bpf::left_over();
    if left.is_empty() {
        Ok(has_flow)
    } else {
        Err(format!("left {}", left.join(", ")))
    }
}

/// A flow over the loopback, whose bytes all arrive.
fn send(controller: &str) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let to = listener.local_addr()?;
    let receiving = thread::spawn(move || -> io::Result<usize> {
        let (mut from, _) = listener.accept()?;
        let (mut all, mut room) = (0, vec![0; 1 << 16]);
        loop {
            match from.read(&mut room)? {
                0 => return Ok(all),
                some => all += some,
            }
        }
    });
    let mut stream = TcpStream::connect(to)?;
    let name = controller.as_bytes();
    // SAFETY: a socket, and as many bytes as are said.
    let failed = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_ptr().cast(),
            name.len() as libc::socklen_t,
        )
    };
    if failed != 0 {
        return Err(io::Error::last_os_error());
    }
    stream.write_all(&vec![7; PAYLOAD])?;
    drop(stream);
    let arrived = receiving.join().expect("receiving does not panic")?;
    if arrived == PAYLOAD {
        Ok(())
    } else {
        Err(io::Error::other(format!("{arrived} of {PAYLOAD} bytes")))
    }
}

fn mount(kind: &CStr, at: &CStr) {
    drop(fs::create_dir_all(at.to_str().expect("ASCII")));
    // SAFETY: terminated strings, and no data.
    let failed =
        unsafe { libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
    if failed != 0 {
        println!("FAILED {at:?}: {}", io::Error::last_os_error());
    }
}

/// As `ip link set lo up`.
fn raise_loopback() -> io::Result<()> {
    // SAFETY: an all-zero ifreq is one; the socket is closed by its owner.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        let socket = <File as std::os::fd::FromRawFd>::from_raw_fd(socket);
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        match libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &request) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
