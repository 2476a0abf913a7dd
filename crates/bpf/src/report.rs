//! What a controller knows of each of its sockets: records of `cca/hosts/bpf/report.h`.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use serde::Serialize;

use crate::netns::NetNs;
use crate::pins::Entry;
use crate::table::number;

/// Where `pacing_rate` and `info` are in a `struct cca_report`, and its size.
const PACING: usize = 88;
const INFO: usize = 96;
const RECORD: usize = 136;

/// `AF_INET6`.
const AF_INET6: u16 = 10;
/// `TCP_LISTEN`: a socket that waits for others, which will use the controller.
const TCP_LISTEN: u8 = 10;

/// A socket that uses a controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Socket {
    /// Network namespace: its name for `ip netns`, `pid N` without one, empty for the caller's.
    pub netns: String,
    /// Address and port here.
    pub local: String,
    /// Address and port there.
    pub remote: String,
    /// Sockets of one load share it; those that outlived an earlier load of the same name have another.
    pub instance: String,
    /// It only waits for connections, which will use the controller; the rest is zero.
    pub is_listening: bool,
    /// State of loss recovery.
    pub tcp_state: &'static str,
    /// User that owns it.
    pub uid: u32,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow-start threshold, segments; none: no congestion yet.
    pub ssthresh: Option<u32>,
    /// Segments in flight.
    pub in_flight: u32,
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// Smoothed round-trip time, microseconds; none: no sample yet.
    pub srtt_us: Option<u32>,
    /// Least round-trip time that TCP saw in 300 s, microseconds.
    pub tcp_min_rtt_us: Option<u32>,
    /// Pacing rate, payload bit/s; none: not paced.
    pub pacing_rate_bps: Option<u64>,
    /// Segments delivered, marked lost, and retransmitted so far.
    pub delivered: u32,
    /// Segments marked lost so far.
    pub lost: u32,
    /// Segments retransmitted so far.
    pub retrans: u32,
    /// The controller's own estimates.
    pub estimates: Estimates,
}

/// What a controller's info hook tells; none: it does not tell that, or has no value yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Estimates<S = String> {
    /// Name of the state it is in.
    pub state: Option<S>,
    /// Bottleneck bandwidth, payload bit/s.
    pub bw_bps: Option<u64>,
    /// Propagation round-trip time, microseconds.
    pub min_rtt_us: Option<u32>,
    /// Pacing gain, 1/256.
    pub pacing_gain: Option<u32>,
    /// Window gain, 1/256.
    pub cwnd_gain: Option<u32>,
    /// Short-term bound on inflight, segments.
    pub inflight_lo: Option<u32>,
    /// Long-term bound on inflight, segments.
    pub inflight_hi: Option<u32>,
}

impl<S> Estimates<S> {
    const NONE: Self = Self {
        state: None,
        bw_bps: None,
        min_rtt_us: None,
        pacing_gain: None,
        cwnd_gain: None,
        inflight_lo: None,
        inflight_hi: None,
    };
}

/// Asks a loaded controller again and again, for who samples flows; `S` names its states.
#[derive(Debug)]
pub struct Reader<S> {
    report: PathBuf,
    states: Vec<S>,
}

/// A socket as a [`Reader`] sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading<S> {
    /// Address and port here.
    pub local: SocketAddr,
    /// Segments marked lost so far.
    pub lost: u32,
    /// The controller's own estimates.
    pub estimates: Estimates<S>,
}

impl<S: Clone> Reader<S> {
    /// Of the controller that the kernel knows by this name, if it is one of ours; `name` makes something of the names
    /// of its states.
    #[must_use]
    pub fn open(kernel_name: &str, name: impl Fn(&str) -> S) -> Option<Self> {
        let entry =
            Entry::all().ok()?.into_iter().find(|one| one.table.kernel_name == kernel_name)?;
        let states = entry.table.states.iter().map(|state| name(state)).collect();
        Some(Self { report: entry.report(), states })
    }

    /// Its sockets in the network namespace of the calling thread, in one pass over that.
    ///
    /// # Errors
    /// When it is no longer loaded.
    pub fn read(&self) -> io::Result<Vec<Reading<S>>> {
        let bytes = fs::read(&self.report)?;
        let records = bytes.chunks_exact(RECORD).filter(|record| record[46] != TCP_LISTEN);
        Ok(records.map(|record| reading(record, &self.states)).collect())
    }
}

fn reading<S: Clone>(record: &[u8], states: &[S]) -> Reading<S> {
    let port = u16::from_ne_bytes([record[40], record[41]]);
    let family = u16::from_ne_bytes([record[44], record[45]]);
    Reading {
        local: endpoint(&record[8..24], family, port),
        lost: number(record, 80),
        estimates: estimates(&record[INFO..], states),
    }
}

/// The sockets that use a controller, in all network namespaces.
pub(crate) fn sockets(entry: &Entry) -> Vec<Socket> {
    let path = entry.report();
    let mut sockets = Vec::new();
    for netns in NetNs::all() {
        // A namespace that has gone has no sockets.
        let Ok(bytes) = netns.within(|| fs::read(&path)) else { continue };
        let records = bytes.chunks_exact(RECORD);
        sockets.extend(records.map(|record| socket(record, &netns.name, &entry.table.states)));
    }
    sockets
}

/// Namespaces whose sockets get the controller unless they ask for another one.
pub(crate) fn default_of(kernel_name: &str) -> Vec<String> {
    let is_default = |netns: &NetNs| {
        let told = netns.within(|| fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control"));
        told.is_ok_and(|told| told.trim() == kernel_name)
    };
    NetNs::all().into_iter().filter(is_default).map(|netns| netns.name).collect()
}

fn socket(record: &[u8], netns: &str, states: &[String]) -> Socket {
    let short = |at: usize| u16::from_ne_bytes([record[at], record[at + 1]]);
    let word = |at: usize| number(record, at);
    let family = short(44);
    let known = |value: u32, unset: u32| (value != unset).then_some(value);
    let is_listening = record[46] == TCP_LISTEN;
    let rate = long(record, PACING);
    Socket {
        netns: netns.to_owned(),
        local: endpoint(&record[8..24], family, short(40)).to_string(),
        remote: endpoint(&record[24..40], family, u16::from_be(short(42))).to_string(),
        instance: format!("{:x}", long(record, 0)),
        is_listening,
        tcp_state: ca_state(record[47]),
        uid: word(48),
        cwnd: word(52),
        ssthresh: known(word(56), 0x7fff_ffff),
        in_flight: word(60),
        mss: word(64),
        srtt_us: known(word(68) >> 3, 0),
        tcp_min_rtt_us: known(word(72), u32::MAX),
        delivered: word(76),
        lost: word(80),
        retrans: word(84),
        pacing_rate_bps: (rate != u64::MAX).then(|| rate.saturating_mul(8)),
        estimates: if is_listening { Estimates::NONE } else { estimates(&record[INFO..], states) },
    }
}

/// From a `struct cca_info` (`cca/include/info.h`).
fn estimates<S: Clone>(info: &[u8], states: &[S]) -> Estimates<S> {
    let flags = number(info, 8);
    let told = |bit: u32, at: usize| (flags & 1 << bit != 0).then(|| number(info, at));
    let state = told(6, 12).and_then(|index| states.get(index as usize).cloned());
    Estimates {
        state,
        bw_bps: (flags & 1 != 0).then(|| long(info, 0).saturating_mul(8)),
        min_rtt_us: told(1, 16),
        pacing_gain: told(2, 20),
        cwnd_gain: told(3, 24),
        inflight_lo: told(4, 28),
        inflight_hi: told(5, 32),
    }
}

fn long(bytes: &[u8], at: usize) -> u64 {
    let mut value = [0; 8];
    value.copy_from_slice(&bytes[at..at + 8]);
    u64::from_ne_bytes(value)
}

/// Address, in network order, and port.
fn endpoint(address: &[u8], family: u16, port: u16) -> SocketAddr {
    let mut wide = [0; 16];
    wide.copy_from_slice(address);
    let address = if family == AF_INET6 {
        IpAddr::V6(Ipv6Addr::from(wide)).to_canonical()
    } else {
        IpAddr::V4(Ipv4Addr::new(wide[0], wide[1], wide[2], wide[3]))
    };
    SocketAddr::new(address, port)
}

/// `enum tcp_ca_state`.
fn ca_state(state: u8) -> &'static str {
    match state {
        0 => "Open",
        1 => "Disorder",
        2 => "CWR",
        3 => "Recovery",
        4 => "Loss",
        _ => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn put(record: &mut [u8], at: usize, bytes: &[u8]) {
        record[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// A record as a C compiler lays out `struct cca_report`: offsets by hand from report.h.
    fn record() -> Vec<u8> {
        let mut record = vec![0; RECORD];
        put(&mut record, 8, &[10, 9, 0, 1]);
        put(&mut record, 24, &[10, 9, 0, 2]);
        put(&mut record, 40, &5201u16.to_ne_bytes());
        put(&mut record, 42, &40000u16.to_be_bytes());
        put(&mut record, 44, &2u16.to_ne_bytes());
        record[46] = 1;
        record[47] = 3;
        for (at, word) in
            [(52, 12u32), (56, 0x7fff_ffff), (64, 1448), (68, 8 * 20_000), (72, u32::MAX), (80, 9)]
        {
            put(&mut record, at, &word.to_ne_bytes());
        }
        put(&mut record, 88, &2_500_000u64.to_ne_bytes());
        put(&mut record, 96, &1_250_000u64.to_ne_bytes());
        // Flags: bandwidth, upper bound, state.
        for (at, word) in [(104, 1u32 | 1 << 5 | 1 << 6), (108, 1), (112, 77), (128, 40)] {
            put(&mut record, at, &word.to_ne_bytes());
        }
        record
    }

    #[test]
    fn a_record_is_read_as_the_program_wrote_it() {
        let states = ["STARTUP", "DRAIN"].map(str::to_owned);
        let socket = socket(&record(), "left", &states);
        assert_eq!((&*socket.local, &*socket.remote), ("10.9.0.1:5201", "10.9.0.2:40000"));
        assert_eq!((&*socket.netns, socket.tcp_state, socket.cwnd), ("left", "Recovery", 12));
        assert_eq!(
            (socket.ssthresh, socket.srtt_us, socket.tcp_min_rtt_us),
            (None, Some(20_000), None)
        );
        assert_eq!(socket.pacing_rate_bps, Some(20_000_000));
        let told = socket.estimates;
        assert_eq!(told.state.as_deref(), Some("DRAIN"));
        assert_eq!((told.bw_bps, told.inflight_hi), (Some(10_000_000), Some(40)));
        assert_eq!((told.min_rtt_us, told.inflight_lo), (None, None), "their flags are not set");
        let brief = reading(&record(), &["STARTUP", "DRAIN"]);
        assert_eq!((brief.local.to_string(), brief.lost), (socket.local, 9));
        assert_eq!(brief.estimates.state, Some("DRAIN"));
    }

    #[test]
    fn an_unpaced_or_listening_socket_says_so() {
        let mut record = record();
        put(&mut record, 88, &u64::MAX.to_ne_bytes());
        record[46] = TCP_LISTEN;
        let socket = socket(&record, "", &[]);
        assert_eq!(socket.pacing_rate_bps, None);
        assert!(socket.is_listening);
        assert_eq!(socket.estimates, Estimates::NONE);
    }

    #[test]
    fn ipv6_is_written_as_ipv6_and_mapped_ipv4_as_ipv4() {
        let mut wide = [0u8; 16];
        (wide[0], wide[1], wide[15]) = (0xfd, 0x00, 1);
        assert_eq!(endpoint(&wide, AF_INET6, 80).to_string(), "[fd00::1]:80");
        let mapped = Ipv4Addr::new(10, 0, 0, 1).to_ipv6_mapped().octets();
        assert_eq!(endpoint(&mapped, AF_INET6, 80).to_string(), "10.0.0.1:80");
    }

    proptest! {
        #[test]
        fn any_record_is_read(bytes in proptest::collection::vec(any::<u8>(), RECORD)) {
            let read = socket(&bytes, "", &["A".to_owned()]);
            prop_assert_eq!(read.cwnd, number(&bytes, 52));
        }
    }
}
