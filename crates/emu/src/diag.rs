//! What the kernel knows of its TCP sockets (`ss -ti`): inet_diag by netlink (include/uapi/linux/inet_diag.h,
//! sock_diag(7)).

use crate::netns::NetNs;
use crate::{Context, EmuError};
use linux_raw_sys::net::tcp_info;
use linux_raw_sys::netlink::{
    nlattr, nlmsgerr, nlmsghdr, NLMSG_DONE, NLMSG_ERROR, NLM_F_DUMP, NLM_F_REQUEST,
};
use record::Estimates;
use rustix::net::{netlink, socket_with, AddressFamily, SocketFlags, SocketType};
use std::fs::File;
use std::io::{self, Read, Write};
use std::mem::{offset_of, size_of, MaybeUninit};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// Attributes, each requested by the bit of its number less one: tcp_info, what BBR reports (requested as VEGASINFO),
/// name of the controller.
const INFO: u16 = 2;
const VEGASINFO: u16 = 3;
const CONG: u16 = 4;
const BBRINFO: u16 = 16;
/// Every state but LISTEN and TIME_WAIT.
const STATES: u32 = 0xfff & !(1 << 10 | 1 << 6);

/// `struct inet_diag_sockid`; ports and addresses in network order.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct SocketId {
    source_port: [u8; 2],
    destination_port: [u8; 2],
    source: [u8; 16],
    destination: [u8; 16],
    interface: u32,
    cookie: [u32; 2],
}

/// `struct inet_diag_req_v2`, after its netlink header.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Request {
    header: nlmsghdr,
    family: u8,
    protocol: u8,
    extensions: u8,
    pad: u8,
    states: u32,
    id: SocketId,
}

/// `struct inet_diag_msg`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Answer {
    family: u8,
    state: u8,
    timer: u8,
    retransmits: u8,
    id: SocketId,
    expires: u32,
    receive_queue: u32,
    send_queue: u32,
    uid: u32,
    inode: u32,
}

/// `struct tcp_bbr_info`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct BbrInfo {
    bw_low: u32,
    bw_high: u32,
    min_rtt_us: u32,
    pacing_gain: u32,
    cwnd_gain: u32,
}

/// A struct of the kernel's of which any bytes are a value.
///
/// # Safety
/// It is `repr(C)`, has integers and arrays of them only, and no padding.
unsafe trait Integers: Copy {}
// SAFETY: as the definitions say.
unsafe impl Integers for nlmsghdr {}
// SAFETY: as above.
unsafe impl Integers for nlmsgerr {}
// SAFETY: as above.
unsafe impl Integers for nlattr {}
// SAFETY: as above.
unsafe impl Integers for tcp_info {}
// SAFETY: as above.
unsafe impl Integers for Request {}
// SAFETY: as above.
unsafe impl Integers for Answer {}
// SAFETY: as above.
unsafe impl Integers for BbrInfo {}

/// The struct at the start of `bytes`; what they are too short for is zero, as an older kernel sends it.
fn read<T: Integers>(bytes: &[u8]) -> T {
    let mut value = MaybeUninit::<T>::zeroed();
    let length = bytes.len().min(size_of::<T>());
    // SAFETY: no more bytes than the struct has are copied, and any bytes are a value.
    unsafe {
        value.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), length);
        value.assume_init()
    }
}

/// The bytes of a struct.
fn bytes_of<T: Integers>(value: &T) -> &[u8] {
    // SAFETY: the memory of a value without padding.
    unsafe { std::slice::from_raw_parts((value as *const T).cast(), size_of::<T>()) }
}

/// A socket, and what `struct tcp_info` holds of it (include/uapi/linux/tcp.h).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Socket {
    pub source: u32,
    pub source_port: u16,
    pub cca: String,
    pub ca_state: u8,
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    pub rtt_us: u32,
    /// The last RTT, which the kernel does not report.
    pub last_rtt_us: Option<u32>,
    pub ssthresh: u32,
    pub cwnd: u32,
    pub total_retrans: u32,
    /// Bytes a second; all ones when not paced.
    pub pacing_rate: u64,
    pub min_rtt_us: u32,
    pub data_segs_out: u32,
    /// Payload, retransmissions included.
    pub bytes_sent: u64,
    /// Bytes a second.
    pub delivery_rate: u64,
    pub busy_us: u64,
    pub rwnd_limited_us: u64,
    pub sndbuf_limited_us: u64,
    pub delivered: u32,
    /// Timeouts, from Linux 6.7 on.
    pub timeouts: Option<u16>,
    /// What the kernel's own BBR estimates.
    pub bbr: Option<Estimates>,
}

/// Where the sampler gets the sockets of the senders.
pub trait SocketSource {
    /// All TCP sockets over IPv4 that are connected or connecting.
    fn sockets(&mut self) -> io::Result<Vec<Socket>>;
}

/// A connection to the kernel about the sockets of one namespace.
#[derive(Debug)]
pub struct Diag {
    file: File,
    answer: Vec<u8>,
}

impl Diag {
    /// # Errors
    /// When the kernel has no inet_diag.
    pub fn open(netns: &NetNs) -> Result<Diag, EmuError> {
        let socket = netns.within(|| {
            let (family, flags) = (AddressFamily::NETLINK, SocketFlags::CLOEXEC);
            Ok(socket_with(family, SocketType::RAW, flags, Some(netlink::SOCK_DIAG))?)
        });
        let file = File::from(socket.context(|| "inet_diag".into())?);
        Ok(Diag { file, answer: vec![0; 1 << 16] })
    }
}

impl SocketSource for Diag {
    fn sockets(&mut self) -> io::Result<Vec<Socket>> {
        self.file.write_all(bytes_of(&request()))?;
        let mut found = Vec::new();
        loop {
            let length = self.file.read(&mut self.answer)?;
            if !read_messages(&self.answer[..length], &mut found)? {
                return Ok(found);
            }
        }
    }
}

fn request() -> Request {
    Request {
        header: nlmsghdr {
            nlmsg_len: size_of::<Request>() as u32,
            nlmsg_type: SOCK_DIAG_BY_FAMILY,
            nlmsg_flags: (NLM_F_REQUEST | NLM_F_DUMP) as u16,
            nlmsg_seq: 0,
            nlmsg_pid: 0,
        },
        family: libc::AF_INET as u8,
        protocol: libc::IPPROTO_TCP as u8,
        extensions: 1 << (INFO - 1) | 1 << (VEGASINFO - 1) | 1 << (CONG - 1),
        pad: 0,
        states: STATES,
        id: SocketId::default(),
    }
}

/// Adds the sockets in a piece of the answer; `false` when it was the last.
fn read_messages(mut bytes: &[u8], found: &mut Vec<Socket>) -> io::Result<bool> {
    const HEADER: usize = size_of::<nlmsghdr>();
    while bytes.len() >= HEADER {
        let header: nlmsghdr = read(bytes);
        let length = (header.nlmsg_len as usize).clamp(HEADER, bytes.len());
        let message = &bytes[HEADER..length];
        match u32::from(header.nlmsg_type) {
            NLMSG_DONE => return Ok(false),
            NLMSG_ERROR => {
                return Err(io::Error::from_raw_os_error(
                    read::<nlmsgerr>(message).error.wrapping_neg(),
                ))
            }
            _ => found.extend(socket(message)),
        }
        bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
    }
    Ok(true)
}

/// The socket of a message.
fn socket(message: &[u8]) -> Option<Socket> {
    const HEADER: usize = size_of::<nlattr>();
    let mut attributes = message.get(size_of::<Answer>()..)?;
    let id = read::<Answer>(message).id;
    let [a, b, c, d, ..] = id.source;
    let mut socket = Socket {
        source_port: u16::from_be_bytes(id.source_port),
        source: u32::from_be_bytes([a, b, c, d]),
        ..Socket::default()
    };
    while attributes.len() >= HEADER {
        let header: nlattr = read(attributes);
        let length = usize::from(header.nla_len).clamp(HEADER, attributes.len());
        let value = &attributes[HEADER..length];
        match header.nla_type {
            INFO => socket.set_info(value),
            CONG => {
                let text = value.split(|&byte| byte == 0).next().unwrap_or_default();
                socket.cca = String::from_utf8_lossy(text).into_owned();
            }
            BBRINFO if value.len() >= size_of::<BbrInfo>() => {
                socket.bbr = Some(estimates(&read(value)));
            }
            _ => {}
        }
        attributes = &attributes[length.next_multiple_of(4).min(attributes.len())..];
    }
    Some(socket)
}

fn estimates(bbr: &BbrInfo) -> Estimates {
    let bw = u64::from(bbr.bw_low) | u64::from(bbr.bw_high) << 32;
    Estimates {
        bw_bps: Some(bw.saturating_mul(8)),
        min_rtt_us: Some(bbr.min_rtt_us),
        pacing_gain: Some(bbr.pacing_gain),
        cwnd_gain: Some(bbr.cwnd_gain),
        ..Estimates::default()
    }
}

impl Socket {
    /// Takes over a `struct tcp_info`.
    fn set_info(&mut self, value: &[u8]) {
        const TIMEOUTS: usize = offset_of!(tcp_info, tcpi_total_rto);
        let info: tcp_info = read(value);
        self.ca_state = info.tcpi_ca_state;
        self.unacked = info.tcpi_unacked;
        self.sacked = info.tcpi_sacked;
        self.lost = info.tcpi_lost;
        self.retrans = info.tcpi_retrans;
        self.rtt_us = info.tcpi_rtt;
        self.ssthresh = info.tcpi_snd_ssthresh;
        self.cwnd = info.tcpi_snd_cwnd;
        self.total_retrans = info.tcpi_total_retrans;
        self.pacing_rate = info.tcpi_pacing_rate;
        self.min_rtt_us = info.tcpi_min_rtt;
        self.data_segs_out = info.tcpi_data_segs_out;
        self.bytes_sent = info.tcpi_bytes_sent;
        self.delivery_rate = info.tcpi_delivery_rate;
        self.busy_us = info.tcpi_busy_time;
        self.rwnd_limited_us = info.tcpi_rwnd_limited;
        self.sndbuf_limited_us = info.tcpi_sndbuf_limited;
        self.delivered = info.tcpi_delivered;
        self.timeouts = (value.len() >= TIMEOUTS + 2).then_some(info.tcpi_total_rto);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut out = (value.len() as u16 + 4).to_ne_bytes().to_vec();
        out.extend(kind.to_ne_bytes());
        out.extend(value);
        out.resize(out.len().next_multiple_of(4), 0);
        out
    }

    fn answer() -> Vec<u8> {
        // Offsets of the fields by hand, from inet_diag.h and tcp.h.
        let mut body = vec![0; 72];
        body[4..6].copy_from_slice(&50_000u16.to_be_bytes());
        body[8..12].copy_from_slice(&[10, 1, 0, 7]);
        let mut info = [0u8; 232];
        info[1] = 3;
        info[80..84].copy_from_slice(&42u32.to_ne_bytes());
        info[104..112].copy_from_slice(&u64::MAX.to_ne_bytes());
        info[192..196].copy_from_slice(&99u32.to_ne_bytes());
        body.extend(attribute(CONG, b"bbr\0"));
        body.extend(attribute(INFO, &info));
        let bbr: Vec<u8> =
            [5u32, 1, 20_000, 739, 512].iter().flat_map(|n| n.to_ne_bytes()).collect();
        body.extend(attribute(BBRINFO, &bbr));
        let mut out = (body.len() as u32 + 16).to_ne_bytes().to_vec();
        out.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        out.extend([0; 10]);
        out.extend(body);
        out
    }

    #[test]
    fn a_socket_is_read_with_its_controller_and_what_an_older_kernel_leaves_out() {
        let mut found = Vec::new();
        assert!(read_messages(&answer(), &mut found).expect("no error"));
        let [socket] = &found[..] else { panic!("{found:?}") };
        assert_eq!(
            (socket.source, socket.source_port, socket.cca.as_str()),
            (0x0a01_0007, 50_000, "bbr")
        );
        assert_eq!((socket.ca_state, socket.cwnd, socket.delivered), (3, 42, 99));
        assert_eq!((socket.pacing_rate, socket.timeouts), (u64::MAX, None));
        let bbr = socket.bbr.expect("attribute 16");
        assert_eq!((bbr.bw_bps, bbr.min_rtt_us), (Some(8 * ((1 << 32) + 5)), Some(20_000)));
        assert_eq!((bbr.pacing_gain, bbr.cwnd_gain), (Some(739), Some(512)));
    }

    #[test]
    fn the_end_of_an_answer_and_an_error_are_told_apart() {
        let message = |kind: u16, code: i32| {
            let mut out = 20u32.to_ne_bytes().to_vec();
            out.extend(kind.to_ne_bytes());
            out.extend([0; 10]);
            out.extend(code.to_ne_bytes());
            out
        };
        assert!(!read_messages(&message(NLMSG_DONE as u16, 0), &mut Vec::new()).expect("done"));
        let error =
            read_messages(&message(NLMSG_ERROR as u16, -1), &mut Vec::new()).expect_err("refused");
        assert_eq!(error.raw_os_error(), Some(1));
    }

    /// As `ss` sends it: 72 bytes, of which the header has 16.
    #[test]
    fn the_request_is_for_all_connected_sockets_over_ipv4() {
        let request = request();
        let bytes = bytes_of(&request);
        assert_eq!((bytes.len(), &bytes[..4]), (72, &72u32.to_ne_bytes()[..]));
        assert_eq!(bytes[4..8], [20, 0, 1, 3]);
        assert_eq!(bytes[16..24], [2, 6, 0b1110, 0, 0xbf, 0x0b, 0, 0]);
        assert!(bytes[24..].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn whatever_the_bytes_reading_ends() {
        let whole = answer();
        let mut draw = 7u32;
        for round in 0..5_000 {
            let mut bytes = whole.clone();
            for _ in 0..3 {
                draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let at = (draw >> 8) as usize % bytes.len();
                bytes[at] = (draw >> 24) as u8;
            }
            bytes.truncate(whole.len() - round % 200);
            read_messages(&bytes, &mut Vec::new()).ok();
        }
    }
}
