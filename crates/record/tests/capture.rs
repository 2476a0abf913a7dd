//! A synthesised conversation as the real tshark reads it.

use record::pcap::{ACK, CE, CWR, ECE, ECT0, FIN, PSH, SYN};
use record::{PcapDatagram, PcapSegment, PcapWriter, RecordError, SynOptions};
use std::path::Path;
use std::process::Command;

const MSS: u32 = 1448;
/// First sequence number of each end; the sender's wraps within the conversation.
const CLIENT: u32 = u32::MAX - 3 * MSS;
const SERVER: u32 = 1_000;

/// Segment `n` (from 0) of the sender's data.
fn data(n: u32) -> PcapSegment<'static> {
    PcapSegment {
        from_sender: true,
        seq: edge(n),
        ack: SERVER + 1,
        flags: ACK | if n == 4 { PSH } else { 0 },
        window: 65_536,
        payload_len: MSS,
        ts_val: 100 + n,
        ts_ecr: 90,
        ecn: ECT0,
        ..PcapSegment::default()
    }
}

/// Left edge of segment `n`.
fn edge(n: u32) -> u32 {
    CLIENT.wrapping_add(1 + n * MSS)
}

/// The receiver has everything before segment `n`.
fn acked<'a>(n: u32, sack: &'a [(u32, u32)]) -> PcapSegment<'a> {
    PcapSegment {
        seq: SERVER + 1,
        ack: edge(n),
        flags: ACK,
        window: 1 << 20,
        ts_val: 95,
        ts_ecr: 100,
        sack,
        ..PcapSegment::default()
    }
}

fn syn(from_sender: bool) -> PcapSegment<'static> {
    let syn = Some(SynOptions { mss: 1460, window_scale: 7 });
    let (window, ts_val) = (64_240, 80);
    if from_sender {
        PcapSegment {
            from_sender,
            seq: CLIENT,
            flags: SYN | ECE | CWR,
            window,
            ts_val,
            syn,
            ..PcapSegment::default()
        }
    } else {
        let (seq, ack, ts_ecr) = (SERVER, edge(0), 80);
        let flags = SYN | ACK | ECE;
        PcapSegment { seq, ack, flags, window, ts_val, ts_ecr, syn, ..PcapSegment::default() }
    }
}

/// Five segments, the second lost: three duplicate ACKs with a growing SACK block, one fast
/// retransmission, and one that was not needed and is answered by a D-SACK.
fn converse(pcap: &mut PcapWriter) {
    let ms = 1_000_000;
    pcap.write_segment(0, &syn(true));
    pcap.write_segment(20 * ms, &syn(false));
    pcap.write_segment(20 * ms + 1, &PcapSegment { payload_len: 0, ecn: 0, ..data(0) });
    for n in 0..5 {
        pcap.write_segment(21 * ms + u64::from(n), &data(n));
    }
    pcap.write_segment(41 * ms, &acked(1, &[]));
    for n in 2..5 {
        let block = [(edge(2), edge(n + 1))];
        pcap.write_segment(41 * ms + u64::from(n), &acked(1, &block));
    }
    pcap.write_segment(41 * ms + 9, &PcapSegment { ecn: 0, ..data(1) });
    pcap.write_segment(61 * ms, &PcapSegment { flags: ACK | ECE, ..acked(5, &[]) });
    pcap.write_segment(262 * ms, &PcapSegment { ecn: CE, ..data(4) });
    pcap.write_segment(282 * ms, &acked(5, &[(edge(4), edge(5))]));
    let fin = PcapSegment { flags: FIN | ACK, payload_len: 0, ..data(5) };
    pcap.write_segment(283 * ms + 123, &fin);
}

fn capture(path: &Path) {
    let mut pcap = PcapWriter::create(path).unwrap();
    converse(&mut pcap);
    pcap.finish().unwrap();
}

/// One line a frame that matches `filter`, the fields separated by tabs.
fn tshark(path: &Path, filter: &str, fields: &[&str]) -> Vec<String> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-r"]).arg(path).args(["-Y", filter, "-T", "fields"]);
    command.args([
        "-o",
        "ip.check_checksum:TRUE",
        "-o",
        "tcp.check_checksum:TRUE",
        "-o",
        "udp.check_checksum:TRUE",
    ]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().expect("tshark is installed: make setup");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark failed on {filter}: {errors}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_string).collect()
}

/// The same capture with the payload (zeros) in it, so that tshark can verify every checksum.
fn padded(from: &Path, to: &Path) {
    let bytes = std::fs::read(from).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut out = bytes[..16].to_vec();
    out.extend(65_536_u32.to_le_bytes());
    out.extend(&bytes[20..24]);
    let mut at = 24;
    while at < bytes.len() {
        let (stored, wire) = (word(at + 8) as usize, word(at + 12) as usize);
        out.extend(&bytes[at..at + 8]);
        out.extend((wire as u32).to_le_bytes());
        out.extend((wire as u32).to_le_bytes());
        out.extend(&bytes[at + 16..at + 16 + stored]);
        out.resize(out.len() + wire - stored, 0);
        at += 16 + stored;
    }
    std::fs::write(to, out).unwrap();
}

#[test]
fn tshark_sees_the_retransmissions_and_duplicate_acks_that_happened() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.pcap");
    capture(&path);
    let frames = |filter: &str| tshark(&path, filter, &["frame.number"]);
    assert_eq!(frames("tcp.analysis.retransmission"), ["13", "15"]);
    assert_eq!(frames("tcp.analysis.fast_retransmission"), ["13"]);
    assert_eq!(frames("tcp.analysis.spurious_retransmission"), ["15"]);
    assert_eq!(frames("tcp.analysis.duplicate_ack"), ["10", "11", "12", "16"]);
    assert_eq!(frames("tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment").len(), 0);
    assert_eq!(frames("tcp.analysis.out_of_order || tcp.analysis.window_full").len(), 0);
}

#[test]
fn every_checksum_is_right_and_nothing_is_malformed() {
    let dir = tempfile::tempdir().unwrap();
    let (path, full) = (dir.path().join("trace.pcap"), dir.path().join("full.pcap"));
    capture(&path);
    padded(&path, &full);
    let good = "ip.checksum.status == 1 && tcp.checksum.status == 1";
    assert_eq!(tshark(&full, good, &["frame.number"]).len(), 17);
    for path in [&path, &full] {
        let bad = "_ws.malformed || _ws.expert.severity == error";
        assert_eq!(tshark(path, bad, &["frame.number"]), Vec::<String>::new());
    }
}

#[test]
fn lengths_times_windows_and_ecn_are_those_given() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.pcap");
    capture(&path);
    let fields = ["frame.time_epoch", "frame.len", "frame.cap_len", "tcp.len", "tcp.window_size"];
    let fields = [&fields[..], &["ip.dsfield.ecn", "tcp.flags"]].concat();
    let rows = tshark(&path, "frame.number in {1, 2, 4, 14, 17}", &fields);
    let rows: Vec<_> = rows.iter().map(|row| row.split('\t').collect::<Vec<_>>()).collect();
    assert_eq!(rows[0], ["0.000000000", "74", "74", "0", "64240", "0", "0x00c2"]);
    assert_eq!(rows[1][5..], ["0", "0x0052"]);
    assert_eq!(rows[2][..5], ["0.021000000", "1514", "66", "1448", "65536"]);
    assert_eq!(rows[2][5..], ["2", "0x0010"]);
    assert_eq!(rows[3][4..], ["1048576", "0", "0x0050"]);
    assert_eq!(rows[4][..4], ["0.283000123", "66", "66", "0"]);
}

#[test]
fn options_are_those_given_and_flows_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.pcap");
    let mut pcap = PcapWriter::create(&path).unwrap();
    converse(&mut pcap);
    for flow in [1, 300, 70_000] {
        pcap.write_segment(1_000_000_000, &PcapSegment { flow, ..syn(true) });
    }
    pcap.finish().unwrap();

    let announced = ["tcp.options.mss_val", "tcp.options.wscale.shift", "tcp.options.sack_perm"];
    for row in tshark(&path, "tcp.flags.syn == 1", &announced) {
        assert!(row.starts_with("1460\t7\t"), "{row}");
    }
    let blocks = ["-", "tcp.options.sack_le", "tcp.options.sack_re"];
    let rows = tshark(&path, "tcp.options.sack_le", &blocks[1..]);
    assert_eq!(rows.len(), 4);
    // tshark counts relative to the first sequence number, so the wrap does not show.
    assert_eq!(rows[2], format!("{}\t{}", 2 * MSS + 1, 5 * MSS + 1));
    assert_eq!(tshark(&path, "tcp.options.sack.dsack_le", &["frame.number"]), ["16"]);
    let echoed = tshark(&path, "frame.number == 9", &["tcp.options.timestamp.tsecr"]);
    assert_eq!(echoed, ["100"]);

    let ends = ["ip.src", "tcp.srcport", "ip.dst", "tcp.dstport"];
    let rows = tshark(&path, "frame.number in {2, 18, 19, 20}", &ends);
    assert_eq!(rows[0], "10.128.0.1\t5201\t10.0.0.1\t49152");
    assert_eq!(rows[1], "10.0.0.2\t49153\t10.128.0.2\t5201");
    assert_eq!(rows[2], "10.0.1.45\t49452\t10.128.1.45\t5201");
    assert_eq!(rows[3], "10.1.17.113\t53616\t10.129.17.113\t5201");
}

#[test]
fn a_full_disk_is_reported_when_the_capture_is_finished() {
    let mut pcap = PcapWriter::create(Path::new("/dev/full")).unwrap();
    converse(&mut pcap);
    let error = pcap.finish().unwrap_err();
    assert!(matches!(error, RecordError::Io { .. }), "{error:?}");
    assert!(error.to_string().starts_with("cannot write /dev/full"), "{error}");
}

#[test]
fn datagrams_and_address_resolution_are_those_given() {
    let dir = tempfile::tempdir().unwrap();
    let (path, full) = (dir.path().join("trace.pcap"), dir.path().join("full.pcap"));
    let mut pcap = PcapWriter::create(&path).unwrap();
    pcap.write_arp(0, 0, false);
    pcap.write_arp(1_000, 0, true);
    for (head, payload_len) in
        [(&[0x43, 1, 2, 3, 4][..], 1011), (&[7; 24], 24), (&[], 0), (&[1], 1)]
    {
        let from_sender = payload_len != 24;
        pcap.write_datagram(
            2_000,
            &PcapDatagram { flow: 0, from_sender, payload_len, head, ecn: CE },
        );
    }
    pcap.finish().unwrap();
    padded(&path, &full);
    let good = "ip.checksum.status == 1 && udp.checksum.status == 1 && ip.dsfield.ecn == 3";
    let rows =
        tshark(&full, good, &["ip.src", "udp.srcport", "udp.dstport", "udp.length", "frame.len"]);
    let sender = "10.0.0.1\t49152\t443";
    let receiver = "10.128.0.1\t443\t49152";
    assert_eq!(rows[0], format!("{sender}\t1019\t1053"));
    assert_eq!(rows[1], format!("{receiver}\t32\t66"));
    assert_eq!(rows[2..], [format!("{sender}\t8\t42"), format!("{sender}\t9\t43")]);
    let arp = ["arp.opcode", "arp.src.hw_mac", "arp.src.proto_ipv4", "arp.dst.hw_mac", "eth.dst"];
    let rows = tshark(&path, "arp", &arp);
    let (mine, other) = ("02:00:0a:00:00:01", "02:00:0a:80:00:01");
    assert_eq!(
        rows,
        [
            format!("1\t{mine}\t10.0.0.1\t00:00:00:00:00:00\tff:ff:ff:ff:ff:ff"),
            format!("2\t{other}\t10.128.0.1\t{mine}\t{mine}"),
        ]
    );
    for path in [&path, &full] {
        assert_eq!(tshark(path, "_ws.malformed", &["frame.number"]), Vec::<String>::new());
    }
}
