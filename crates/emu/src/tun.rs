//! TUN devices: what a namespace sends can be read here, what is written here it receives
//! (Documentation/networking/tuntap.rst).

use crate::error::{EmuError, Tried};
use crate::netns::NetNs;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

/// Name of the device in its namespace.
pub const NAME: &str = "path0";
/// Frames that the device holds before this process has read them: what it drops beyond is a fault of the
/// emulation, and is reported as one.
const QUEUE_LENGTH: u32 = 20_000;
/// `TUNSETIFF` (include/uapi/linux/if_tun.h).
const TUNSETIFF: libc::Ioctl = 0x4004_54ca;
/// `TUNSETOFFLOAD`, and what it takes: half-done checksums, bursts of TCP, also of such as carry CWR
/// (`TUN_F_CSUM`, `TUN_F_TSO4`, `TUN_F_TSO_ECN`).
const TUNSETOFFLOAD: libc::Ioctl = 0x4004_54d0;
const OFFLOADS: libc::c_ulong = 1 | 2 | 8;
/// IP packets behind `struct virtio_net_hdr`, which says what is left to do.
const FLAGS: libc::c_short =
    (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;

/// A device; it goes when this is dropped.
#[derive(Debug)]
pub struct Tun {
    file: File,
}

impl Tun {
    /// A device in `netns`, without an address yet. Bursts come in one piece, for a [`Burst`] to cut; what is
    /// written is received frame by frame.
    ///
    /// [`Burst`]: crate::burst::Burst
    ///
    /// # Errors
    /// When there is no `/dev/net/tun`, or the process may not use it.
    pub fn new(netns: &NetNs) -> Result<Tun, EmuError> {
        let opened = netns.within(open);
        let hint = opened.as_ref().err().map_or("", hint);
        let file = opened.tried(|| format!("a TUN device (/dev/net/tun{hint})"))?;
        netns.run("ip", &["link", "set", "lo", "up"])?;
        let length = QUEUE_LENGTH.to_string();
        netns.run("ip", &["link", "set", NAME, "mtu", "1500", "txqueuelen", &length, "up"])?;
        Ok(Tun { file })
    }

    /// Reads one packet behind the driver's header; `None` when there is none.
    #[inline]
    pub fn read(&self, room: &mut [u8]) -> Option<usize> {
        (&self.file).read(room).ok()
    }

    /// Hands a packet behind the driver's header over; `false` if the kernel refuses it.
    #[inline]
    pub fn write(&self, packet: &[u8]) -> bool {
        (&self.file).write(packet).is_ok()
    }
}

impl AsRawFd for Tun {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

/// What to do about it.
fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; run as root, or have root do: chmod 666 /dev/net/tun",
        io::ErrorKind::NotFound => "; have root do: modprobe tun",
        _ => "",
    }
}

fn open() -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file =
        options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    // SAFETY: an all-zero ifreq is one.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, &from) in request.ifr_name.iter_mut().zip(NAME.as_bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = FLAGS;
    // SAFETY: an open device, and the request that this call takes.
    let made = unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF, &mut request) };
    // SAFETY: an open device and a number.
    if made != 0 || unsafe { libc::ioctl(file.as_raw_fd(), TUNSETOFFLOAD, OFFLOADS) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(file)
}

/// Packets that the device in `netns` dropped because this process had not read them in time.
pub fn dropped(netns: &NetNs) -> u64 {
    let text = netns.within(|| std::fs::read_to_string("/proc/thread-self/net/dev"));
    let text = text.unwrap_or_default();
    let line = text.lines().find_map(|line| line.trim().strip_prefix("path0:"));
    // Receive columns come first: bytes packets errs drop fifo frame compressed multicast; then transmit.
    let columns: Vec<u64> =
        line.unwrap_or_default().split_whitespace().flat_map(str::parse).collect();
    columns.get(11).copied().unwrap_or(0)
}
