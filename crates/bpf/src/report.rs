//! What a controller knows of each of its sockets: records of `cca/hosts/bpf/report.h`.

use std::fs;
use std::io;
use std::mem::{size_of, MaybeUninit};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use record::{Estimates, CA_STATES};
use serde::Serialize;

use crate::netns::NetNs;
use crate::pins::Entry;

/// `struct cca_report`; a test compares it with C.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Record {
    instance: u64,
    local: [u8; 16],
    remote: [u8; 16],
    local_port: u16,
    remote_port: u16,
    family: u16,
    tcp_state: u8,
    ca_state: u8,
    uid: u32,
    cwnd: u32,
    ssthresh: u32,
    in_flight: u32,
    mss: u32,
    srtt_us: u32,
    min_rtt_us: u32,
    delivered: u32,
    lost: u32,
    retrans: u32,
    pacing_rate: u64,
    info: Info,
}

/// `struct cca_info` (`cca/include/info.h`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Info {
    bw_bytes_per_s: u64,
    flags: u32,
    state: u32,
    min_rtt_us: u32,
    pacing_gain: u32,
    cwnd_gain: u32,
    inflight_lo: u32,
    inflight_hi: u32,
    padding: u32,
}

const _: () = assert!(size_of::<Record>() == 136, "as report.h asserts");

impl Record {
    /// The records in what was read.
    fn all(bytes: &[u8]) -> impl Iterator<Item = Self> + '_ {
        bytes.chunks_exact(size_of::<Self>()).map(|bytes| {
            let mut record = MaybeUninit::<Self>::uninit();
            // SAFETY: as many bytes as the record has, which consists of integers without padding, so that any bytes
            // are a value.
            unsafe {
                let to = record.as_mut_ptr().cast::<u8>();
                to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                record.assume_init()
            }
        })
    }

    fn is_listening(&self) -> bool {
        self.tcp_state == TCP_LISTEN
    }

    fn local(&self) -> SocketAddr {
        endpoint(self.local, self.family, self.local_port)
    }

    fn remote(&self) -> SocketAddr {
        endpoint(self.remote, self.family, u16::from_be(self.remote_port))
    }
}

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
    /// Minimum round-trip time that TCP saw in 300 s, microseconds.
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
    pub estimates: Estimates<String>,
}

/// Reads a loaded controller again and again, to sample flows; `S` names its states.
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
    /// A reader of the controller that the kernel knows by this name, if it is one of ours; `name` converts the names
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
        let records = Record::all(&bytes).filter(|record| !record.is_listening());
        Ok(records.map(|record| reading(&record, &self.states)).collect())
    }
}

fn reading<S: Clone>(record: &Record, states: &[S]) -> Reading<S> {
    let estimates = estimates(&record.info, states);
    Reading { local: record.local(), lost: record.lost, estimates }
}

/// The sockets that use a controller, in all network namespaces.
pub(crate) fn sockets(entry: &Entry) -> Vec<Socket> {
    let path = entry.report();
    let mut sockets = Vec::new();
    for netns in NetNs::all() {
        // A namespace that has gone has no sockets.
        let Ok(bytes) = netns.within(|| fs::read(&path)) else { continue };
        let records = Record::all(&bytes);
        sockets.extend(records.map(|record| socket(&record, &netns.name, &entry.table.states)));
    }
    sockets
}

fn socket(record: &Record, netns: &str, states: &[String]) -> Socket {
    let known = |value: u32, unset: u32| (value != unset).then_some(value);
    let (is_listening, rate) = (record.is_listening(), record.pacing_rate);
    Socket {
        netns: netns.to_owned(),
        local: record.local().to_string(),
        remote: record.remote().to_string(),
        instance: format!("{:x}", record.instance),
        is_listening,
        tcp_state: CA_STATES.get(usize::from(record.ca_state)).unwrap_or(&"?"),
        uid: record.uid,
        cwnd: record.cwnd,
        ssthresh: known(record.ssthresh, units::INFINITE_SSTHRESH),
        in_flight: record.in_flight,
        mss: record.mss,
        srtt_us: known(record.srtt_us >> 3, 0),
        tcp_min_rtt_us: known(record.min_rtt_us, u32::MAX),
        delivered: record.delivered,
        lost: record.lost,
        retrans: record.retrans,
        pacing_rate_bps: (rate != u64::MAX).then(|| rate.saturating_mul(8)),
        estimates: match is_listening {
            true => Estimates::default(),
            false => estimates(&record.info, states),
        },
    }
}

/// The fields that `flags` (`enum cca_info_flags`) says are valid.
fn estimates<S: Clone>(info: &Info, states: &[S]) -> Estimates<S> {
    let valid = |bit: u32, value: u32| (info.flags & 1 << bit != 0).then_some(value);
    let state = valid(6, info.state).and_then(|index| states.get(index as usize).cloned());
    Estimates {
        state,
        bw_bps: (info.flags & 1 != 0).then(|| info.bw_bytes_per_s.saturating_mul(8)),
        min_rtt_us: valid(1, info.min_rtt_us),
        pacing_gain: valid(2, info.pacing_gain),
        cwnd_gain: valid(3, info.cwnd_gain),
        inflight_lo: valid(4, info.inflight_lo),
        inflight_hi: valid(5, info.inflight_hi),
    }
}

/// Address, in network order, and port.
fn endpoint(address: [u8; 16], family: u16, port: u16) -> SocketAddr {
    let address = if family == AF_INET6 {
        IpAddr::V6(Ipv6Addr::from(address)).to_canonical()
    } else {
        let [a, b, c, d, ..] = address;
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    SocketAddr::new(address, port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::number;
    use crate::Object;
    use proptest::prelude::*;
    use std::fmt::Write as _;
    use std::mem::offset_of;

    const RECORD: usize = size_of::<Record>();

    fn only(bytes: &[u8]) -> Record {
        Record::all(bytes).next().expect("a whole record")
    }

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
        let socket = socket(&only(&record()), "left", &states);
        assert_eq!((&*socket.local, &*socket.remote), ("10.9.0.1:5201", "10.9.0.2:40000"));
        assert_eq!((&*socket.netns, socket.tcp_state, socket.cwnd), ("left", "Recovery", 12));
        assert_eq!(
            (socket.ssthresh, socket.srtt_us, socket.tcp_min_rtt_us),
            (None, Some(20_000), None)
        );
        assert_eq!(socket.pacing_rate_bps, Some(20_000_000));
        let estimates = socket.estimates;
        assert_eq!(estimates.state.as_deref(), Some("DRAIN"));
        assert_eq!((estimates.bw_bps, estimates.inflight_hi), (Some(10_000_000), Some(40)));
        assert_eq!(
            (estimates.min_rtt_us, estimates.inflight_lo),
            (None, None),
            "their flags are not set"
        );
        let brief = reading(&only(&record()), &["STARTUP", "DRAIN"]);
        assert_eq!((brief.local.to_string(), brief.lost), (socket.local, 9));
        assert_eq!(brief.estimates.state, Some("DRAIN"));
    }

    #[test]
    fn the_record_has_the_layout_of_c() {
        // A build without clang has no objects, and this machine may have no clang.
        if Object::find("bbr").is_err() {
            return;
        }
        let mut source = "#include \"cca.h\"\n".to_owned();
        macro_rules! same_offsets {
            ($type:ident as $name:literal: $($field:ident)*) => {
                $(writeln!(
                    source,
                    "_Static_assert(__builtin_offsetof(struct {}, {f}) == {}, \"{f}\");",
                    $name, offset_of!($type, $field), f = stringify!($field),
                ).expect("String never fails");)*
            };
        }
        same_offsets!(Record as "cca_report": instance local remote local_port remote_port family
            tcp_state ca_state uid cwnd ssthresh in_flight mss srtt_us min_rtt_us delivered lost
            retrans pacing_rate info);
        same_offsets!(Info as "cca_info": bw_bytes_per_s flags state min_rtt_us pacing_gain
            cwnd_gain inflight_lo inflight_hi);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("layout.c");
        fs::write(&path, source).expect("written");
        Object::compile(&path).expect("C has these offsets");
    }

    #[test]
    fn an_unpaced_or_listening_socket_says_so() {
        let mut record = record();
        put(&mut record, 88, &u64::MAX.to_ne_bytes());
        record[46] = TCP_LISTEN;
        let socket = socket(&only(&record), "", &[]);
        assert_eq!(socket.pacing_rate_bps, None);
        assert!(socket.is_listening);
        assert_eq!(socket.estimates, Estimates::default());
    }

    #[test]
    fn ipv6_is_written_as_ipv6_and_mapped_ipv4_as_ipv4() {
        let mut wide = [0u8; 16];
        (wide[0], wide[1], wide[15]) = (0xfd, 0x00, 1);
        assert_eq!(endpoint(wide, AF_INET6, 80).to_string(), "[fd00::1]:80");
        let mapped = Ipv4Addr::new(10, 0, 0, 1).to_ipv6_mapped().octets();
        assert_eq!(endpoint(mapped, AF_INET6, 80).to_string(), "10.0.0.1:80");
    }

    proptest! {
        #[test]
        fn any_record_is_read(bytes in proptest::collection::vec(any::<u8>(), RECORD)) {
            let read = socket(&only(&bytes), "", &["A".to_owned()]);
            prop_assert_eq!(read.cwnd, number(&bytes, 52));
        }
    }
}
