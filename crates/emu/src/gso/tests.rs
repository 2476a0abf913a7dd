//! Bursts written by hand, and what is cut from them summed as RFC 1071 says.

use super::*;

const HEADERS: usize = 52;
const TIMESTAMPS: [u8; 12] = [1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 7];

/// A driver's header for a burst of frames with this much payload, and the packet from 10.1.0.1:50000 to
/// 10.2.0.1:5201; payload byte i is i mod 251.
fn burst(id: u16, seq: u32, flags: u16, payload: usize, mss: u16) -> Vec<u8> {
    let mut p = vec![NEEDS_CHECKSUM, TCP4, 0, 0];
    for number in [mss, 20, TCP_CHECKSUM as u16] {
        p.extend(number.to_ne_bytes());
    }
    p.extend([0x45, 2, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 1, 0, 1, 10, 2, 0, 1]);
    put(&mut p, VNET_BYTES + 2, (HEADERS + payload) as u16);
    put(&mut p, VNET_BYTES + 4, id);
    p.extend(50_000u16.to_be_bytes());
    p.extend(5_201u16.to_be_bytes());
    p.extend(seq.to_be_bytes());
    p.extend(70_000u32.to_be_bytes());
    p.extend((8 << 12 | flags).to_be_bytes());
    p.extend([1, 2, 0, 0, 0, 0]);
    p.extend(TIMESTAMPS);
    p.extend((0..payload).map(|i| (i % 251) as u8));
    p
}

/// All frames with their driver's headers.
fn cut(read: &[u8]) -> Vec<Vec<u8>> {
    let mut burst = Segmenter::default();
    burst.buffer()[..read.len()].copy_from_slice(read);
    burst.set_length(read.len());
    let mut out = [0; 1536];
    let mut next = || burst.next(&mut out).map(|length| out[..length].to_vec());
    std::iter::from_fn(&mut next).collect()
}

/// One's complement sum by another way than the code's: byte by byte, carries at once.
fn ones(bytes: &[u8]) -> u16 {
    bytes.iter().enumerate().fold(0u16, |sum, (i, &byte)| {
        let word = if i % 2 == 0 { u16::from(byte) << 8 } else { u16::from(byte) };
        let (sum, carry) = sum.overflowing_add(word);
        sum + u16::from(carry)
    })
}

/// What the receiver would compute: 0xffff for a right checksum of IP's header, and of TCP.
fn verdicts(frame: &[u8]) -> (u16, u16) {
    let tcp_bytes = (frame.len() - 20) as u16;
    let pseudo = [&frame[12..20], &[0, 6], &tcp_bytes.to_be_bytes(), &frame[20..]].concat();
    (ones(&frame[..20]), ones(&pseudo))
}

#[test]
fn a_burst_becomes_the_frames_that_the_kernel_would_cut() {
    let flags = flag::ACK | flag::PSH | flag::FIN | flag::CWR;
    let frames = cut(&burst(0xfffe, u32::MAX - 2000, flags, 3 * 1448 + 100, 1448));
    let seen: Vec<_> = frames
        .iter()
        .map(|frame| {
            let packet = &frame[VNET_BYTES..];
            let ip = Ip::parse(packet).expect("IP");
            let tcp = ip.tcp(packet).expect("TCP");
            let id = u16::from_be_bytes([packet[4], packet[5]]);
            (ip.total, id, tcp.seq, tcp.flags, tcp.payload)
        })
        .collect();
    let first = u32::MAX - 2000;
    let expected = [
        (1500, 0xfffe, first, flag::ACK | flag::CWR, 1448),
        (1500, 0xffff, first.wrapping_add(1448), flag::ACK, 1448),
        (1500, 0, first.wrapping_add(2 * 1448), flag::ACK, 1448),
        (152, 1, first.wrapping_add(3 * 1448), flag::ACK | flag::PSH | flag::FIN, 100),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn all_payload_arrives_once_in_order_with_right_checksums() {
    for mss in [1448, 536, 1] {
        for payload in [1, 2, 1447, 1448, 1449, 2896, 40_001, 65_483] {
            if payload / mss > 3_000 {
                continue;
            }
            let read = burst(7, 1_000, flag::ACK, payload, mss as u16);
            let mut frames = cut(&read);
            assert_eq!(frames.len(), payload.div_ceil(mss), "{payload} by {mss}");
            frames.iter_mut().for_each(|frame| complete(frame));
            for frame in &frames {
                assert_eq!(frame[..VNET_BYTES], [0; VNET_BYTES]);
                let verdicts = verdicts(&frame[VNET_BYTES..]);
                assert_eq!(verdicts, (0xffff, 0xffff), "{payload} by {mss}");
            }
            let joined: Vec<u8> =
                frames.iter().flat_map(|frame| &frame[VNET_BYTES + HEADERS..]).copied().collect();
            assert_eq!(joined, read[VNET_BYTES + HEADERS..]);
        }
    }
}

#[test]
fn the_receiving_kernel_is_told_that_a_checksum_is_half_done() {
    let frame = &cut(&burst(7, 1_000, flag::ACK, 3_000, 1448))[1];
    let vnet: Vec<u16> = frame[2..VNET_BYTES].chunks(2).map(|two| ne16(two, 0)).collect();
    assert_eq!((&frame[..2], vnet), (&[NEEDS_CHECKSUM, 0][..], vec![0, 0, 20, 16]));
    let packet = &frame[VNET_BYTES..];
    let pseudo = [&packet[12..20], &[0, 6, (1480u16 >> 8) as u8, 1480u16 as u8]].concat();
    assert_eq!(u16::from_be_bytes([packet[36], packet[37]]), ones(&pseudo));
}

#[test]
fn a_single_packet_passes_as_it_is() {
    let mut read = burst(7, 1_000, flag::ACK, 100, 0);
    read[1] = 0;
    assert_eq!(cut(&read), [read]);
}

#[test]
fn what_no_wire_would_carry_is_nothing() {
    let mut headless = burst(7, 1_000, flag::ACK, 5_000, 1448);
    headless[VNET_BYTES] = 0x65;
    let whole = burst(7, 1_000, flag::ACK, 5_000, 0);
    let too_long = burst(7, 1_000, flag::ACK, 5_000, 2_000);
    for read in [&headless, &whole, &too_long, &vec![0; VNET_BYTES], &vec![0; 3]] {
        assert_eq!(cut(read), Vec::<Vec<u8>>::new());
    }
}

#[test]
fn a_known_udp_checksum_is_completed_and_zero_becomes_ones() {
    // A pseudo-header's sum in the field, as the kernel leaves it, and payload that makes the sum 0xffff.
    let mut frame = vec![NEEDS_CHECKSUM, 0, 0, 0, 0, 0];
    frame.extend(20u16.to_ne_bytes());
    frame.extend(6u16.to_ne_bytes());
    frame.extend([0x45, 0, 0, 30, 0, 0, 0, 0, 64, 17, 0, 0, 10, 1, 0, 1, 10, 2, 0, 1]);
    let pseudo = ones(&[10, 1, 0, 1, 10, 2, 0, 1, 0, 17, 0, 10]);
    frame.extend([0x1b, 0x58, 0x1b, 0x58, 0, 10]);
    frame.extend(pseudo.to_be_bytes());
    let rest = 0xffff - ones(&frame[VNET_BYTES + 20..]);
    frame.extend(rest.to_be_bytes());
    complete(&mut frame);
    assert_eq!(frame[VNET_BYTES + 26..VNET_BYTES + 28], [0xff, 0xff]);
}
