//! What the kernel tells of its TCP sockets (`ss -ti`): inet_diag by netlink
//! (include/uapi/linux/inet_diag.h, sock_diag(7)).

use crate::error::{EmuError, Tried};
use crate::netns::NetNs;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::FromRawFd;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// NLM_F_REQUEST | NLM_F_DUMP.
const DUMP: u16 = 0x301;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// Attributes, each asked for by the bit of its number less one: tcp_info, what BBR says of itself
/// (asked for as VEGASINFO), name of the controller.
const INFO: u16 = 2;
const VEGASINFO: u16 = 3;
const CONG: u16 = 4;
const BBRINFO: u16 = 16;
/// Every state but LISTEN and TIME_WAIT.
const STATES: u32 = 0xfff & !(1 << 10 | 1 << 6);
const ANSWER_HEADER: usize = 72;

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
    pub ssthresh: u32,
    pub cwnd: u32,
    pub total_retrans: u32,
    /// Bytes a second; all ones when not paced.
    pub pacing_rate: u64,
    pub min_rtt_us: u32,
    pub data_segs_out: u32,
    /// Bytes a second.
    pub delivery_rate: u64,
    pub busy_us: u64,
    pub rwnd_limited_us: u64,
    pub sndbuf_limited_us: u64,
    pub delivered: u32,
    /// Timeouts, from Linux 6.7 on.
    pub timeouts: Option<u16>,
    pub bbr: Option<Bbr>,
}

/// `struct tcp_bbr_info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bbr {
    /// Bytes a second.
    pub bw: u64,
    pub min_rtt_us: u32,
    /// In 1/256.
    pub pacing_gain: u32,
    pub cwnd_gain: u32,
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
        let file = netns.within(|| {
            // SAFETY: a new file, which nobody else owns if it is one.
            unsafe {
                let fd = libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 4);
                if fd < 0 {
                    Err(io::Error::last_os_error())
                } else {
                    Ok(File::from_raw_fd(fd))
                }
            }
        });
        Ok(Diag { file: file.tried(|| "inet_diag".into())?, answer: vec![0; 1 << 16] })
    }

    /// All TCP sockets over IPv4 that are connected or connecting.
    pub fn sockets(&mut self) -> io::Result<Vec<Socket>> {
        self.file.write_all(&request())?;
        let mut found = Vec::new();
        loop {
            let length = self.file.read(&mut self.answer)?;
            if !read_messages(&self.answer[..length], &mut found)? {
                return Ok(found);
            }
        }
    }
}

fn request() -> Vec<u8> {
    let extensions = 1u8 << (INFO - 1) | 1 << (VEGASINFO - 1) | 1 << (CONG - 1);
    let mut out = Vec::with_capacity(72);
    out.extend(72u32.to_ne_bytes());
    out.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    out.extend(DUMP.to_ne_bytes());
    out.extend([0; 8]);
    out.extend([libc::AF_INET as u8, libc::IPPROTO_TCP as u8, extensions, 0]);
    out.extend(STATES.to_ne_bytes());
    out.resize(72, 0);
    out
}

/// Adds the sockets in a piece of the answer; `false` when it was the last.
fn read_messages(mut bytes: &[u8], found: &mut Vec<Socket>) -> io::Result<bool> {
    while bytes.len() >= 16 {
        let length = (u32_at(bytes, 0) as usize).clamp(16, bytes.len());
        match u16_at(bytes, 4) {
            NLMSG_DONE => return Ok(false),
            NLMSG_ERROR => {
                let code = if length >= 20 { u32_at(bytes, 16) as i32 } else { 0 };
                return Err(io::Error::from_raw_os_error(-code));
            }
            _ => found.extend(socket(&bytes[16..length])),
        }
        bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
    }
    Ok(true)
}

/// A socket of its message.
fn socket(message: &[u8]) -> Option<Socket> {
    let mut attributes = message.get(ANSWER_HEADER..)?;
    let mut socket = Socket {
        source_port: u16::from_be_bytes([message[4], message[5]]),
        source: u32::from_be_bytes([message[8], message[9], message[10], message[11]]),
        ..Socket::default()
    };
    while attributes.len() >= 4 {
        let length = usize::from(u16_at(attributes, 0)).clamp(4, attributes.len());
        let value = &attributes[4..length];
        match u16_at(attributes, 2) {
            INFO => read_info(value, &mut socket),
            CONG => {
                let text = value.split(|&byte| byte == 0).next().unwrap_or_default();
                socket.cca = String::from_utf8_lossy(text).into_owned();
            }
            BBRINFO if value.len() >= 20 => {
                socket.bbr = Some(Bbr {
                    bw: u64::from(u32_at(value, 0)) | u64::from(u32_at(value, 4)) << 32,
                    min_rtt_us: u32_at(value, 8),
                    pacing_gain: u32_at(value, 12),
                    cwnd_gain: u32_at(value, 16),
                });
            }
            _ => {}
        }
        attributes = &attributes[length.next_multiple_of(4).min(attributes.len())..];
    }
    Some(socket)
}

/// Reads `struct tcp_info`; what an older kernel does not tell is zero.
fn read_info(value: &[u8], socket: &mut Socket) {
    let mut info = [0u8; 248];
    let length = value.len().min(info.len());
    info[..length].copy_from_slice(&value[..length]);
    let (u32_of, u64_of) = (|at| u32_at(&info, at), |at| u64_at(&info, at));
    socket.ca_state = info[1];
    socket.unacked = u32_of(24);
    socket.sacked = u32_of(28);
    socket.lost = u32_of(32);
    socket.retrans = u32_of(36);
    socket.rtt_us = u32_of(68);
    socket.ssthresh = u32_of(76);
    socket.cwnd = u32_of(80);
    socket.total_retrans = u32_of(100);
    socket.pacing_rate = u64_of(104);
    socket.min_rtt_us = u32_of(148);
    socket.data_segs_out = u32_of(156);
    socket.delivery_rate = u64_of(160);
    socket.busy_us = u64_of(168);
    socket.rwnd_limited_us = u64_of(176);
    socket.sndbuf_limited_us = u64_of(184);
    socket.delivered = u32_of(192);
    socket.timeouts = (length >= 242).then(|| u16_at(&info, 240));
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
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
        let mut body = vec![0; ANSWER_HEADER];
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
        let bbr = Bbr { bw: (1 << 32) + 5, min_rtt_us: 20_000, pacing_gain: 739, cwnd_gain: 512 };
        assert_eq!(socket.bbr, Some(bbr));
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
        assert!(!read_messages(&message(NLMSG_DONE, 0), &mut Vec::new()).expect("done"));
        let error = read_messages(&message(NLMSG_ERROR, -1), &mut Vec::new()).expect_err("refused");
        assert_eq!(error.raw_os_error(), Some(1));
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
