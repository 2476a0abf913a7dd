//! TUN devices: what a namespace sends can be read here, what is written here it receives
//! (Documentation/networking/tuntap.rst).

use crate::netns::NetNs;
use crate::{Context, EmuError};
use linux_raw_sys::if_tun::{
    IFF_NO_PI, IFF_TUN, IFF_VNET_HDR, TUN_F_CSUM, TUN_F_TSO4, TUN_F_TSO_ECN,
};
use linux_raw_sys::ioctl::{TUNSETIFF, TUNSETOFFLOAD};
use rustix::event::{poll, PollFd, PollFlags};
use rustix::ioctl::{ioctl, IntegerSetter, Updater};
use rustix::time::Timespec;
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use units::Span;

/// Name of the device in its namespace.
pub const NAME: &str = "path0";
/// Frames that the device holds until this process reads them: those that it drops beyond are a fault of the
/// emulation, and are reported as one.
const QUEUE_LENGTH: u32 = 20_000;
/// Half-done checksums, and bursts of TCP, also those that carry CWR.
const OFFLOADS: u32 = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO_ECN;
/// IP packets after a `struct virtio_net_hdr`, which says what is left to do.
const FLAGS: u32 = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;

/// The devices of both hosts.
pub trait Devices {
    /// Reads one packet, after the driver's header, that travels in this direction; `None` when there is none.
    fn read(&self, direction: Direction, buffer: &mut [u8]) -> Option<usize>;

    /// Hands a packet, after the driver's header, to the host at the end of this direction; `false` if its kernel
    /// refuses the packet.
    fn write(&self, direction: Direction, packet: &[u8]) -> bool;

    /// The same for a packet in several parts, the first of which begins with the driver's header.
    fn write_parts(&self, direction: Direction, parts: &[IoSlice<'_>]) -> bool;

    /// Sleeps until there is a packet to read, at most for `timeout`, which is below a second.
    fn wait(&self, timeout: Span);
}

/// The direction of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Down: from the hosts of `senders` to those of `receivers`.
    Forward,
    /// Up.
    Back,
}

/// A device; it is removed when this is dropped.
#[derive(Debug)]
pub struct Tun {
    file: File,
}

impl Tun {
    /// A device in `netns`, without an address yet. Bursts are read in one piece, for a [`Segmenter`] to cut; what is
    /// written is received frame by frame.
    ///
    /// [`Segmenter`]: crate::gso::Segmenter
    ///
    /// # Errors
    /// When there is no `/dev/net/tun`, or the process may not use it.
    pub fn new(netns: &NetNs) -> Result<Tun, EmuError> {
        let opened = netns.within(open);
        let hint = opened.as_ref().err().map_or("", hint);
        let file = opened.context(|| format!("a TUN device (/dev/net/tun{hint})"))?;
        netns.run("ip", &["link", "set", "lo", "up"])?;
        let length = QUEUE_LENGTH.to_string();
        netns.run("ip", &["link", "set", NAME, "mtu", "1500", "txqueuelen", &length, "up"])?;
        Ok(Tun { file })
    }
}

/// The devices of both ends of a path.
#[derive(Debug)]
pub struct TunPair {
    pub senders: Tun,
    pub receivers: Tun,
}

impl TunPair {
    /// The device of the host at the end of a direction.
    #[inline]
    fn to(&self, direction: Direction) -> &Tun {
        match direction {
            Direction::Forward => &self.receivers,
            Direction::Back => &self.senders,
        }
    }
}

impl Devices for TunPair {
    #[inline]
    fn read(&self, direction: Direction, buffer: &mut [u8]) -> Option<usize> {
        let from = match direction {
            Direction::Forward => &self.senders,
            Direction::Back => &self.receivers,
        };
        (&from.file).read(buffer).ok()
    }

    #[inline]
    fn write(&self, direction: Direction, packet: &[u8]) -> bool {
        (&self.to(direction).file).write(packet).is_ok()
    }

    fn write_parts(&self, direction: Direction, parts: &[IoSlice<'_>]) -> bool {
        (&self.to(direction).file).write_vectored(parts).is_ok()
    }

    fn wait(&self, timeout: Span) {
        let mut files =
            [&self.senders, &self.receivers].map(|tun| PollFd::new(&tun.file, PollFlags::IN));
        let timeout = Timespec { tv_sec: 0, tv_nsec: timeout.as_ns() as i64 };
        // Whatever ends it, the loop looks again.
        let _ = poll(&mut files, Some(&timeout));
    }
}

/// What the user can do about it.
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
    // SAFETY: an all-zero ifreq is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, &from) in request.ifr_name.iter_mut().zip(NAME.as_bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = FLAGS as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes an ifreq, TUNSETOFFLOAD takes a number.
    unsafe {
        ioctl(&file, Updater::<TUNSETIFF, libc::ifreq>::new(&mut request))?;
        ioctl(&file, IntegerSetter::<TUNSETOFFLOAD>::new_usize(OFFLOADS as usize))?;
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
