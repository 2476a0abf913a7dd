//! Headers written by hand, and checksums summed as RFC 1071 says.

use super::*;

/// One's complement sum of a header, which is 0xffff for one whose checksum is right (RFC 1071).
fn sum(header: &[u8]) -> u16 {
    let mut total: u32 = header.chunks(2).map(|pair| u32::from(be16(pair, 0))).sum();
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    total as u16
}

/// A TCP packet from 10.1.0.1:50000 to 10.2.0.1:5201 with these options and payload.
fn packet(tos: u8, flags: u16, options: &[u8], payload: usize) -> Vec<u8> {
    let header = 20 + options.len();
    let total = (20 + header + payload) as u16;
    let mut p = vec![0x45, tos, 0, 0, 0x12, 0x34, 0x40, 0, 64, 6, 0, 0, 10, 1, 0, 1, 10, 2, 0, 1];
    p[2..4].copy_from_slice(&total.to_be_bytes());
    let checksum = !sum(&p);
    p[10..12].copy_from_slice(&checksum.to_be_bytes());
    p.extend(50_000u16.to_be_bytes());
    p.extend(5_201u16.to_be_bytes());
    p.extend(1_000u32.to_be_bytes());
    p.extend(70_000u32.to_be_bytes());
    p.extend((((header / 4) as u16) << 12 | flags).to_be_bytes());
    p.extend([0; 6]);
    p.extend(options);
    p.resize(usize::from(total), 0);
    p
}

#[test]
fn a_tos_is_rewritten_with_the_checksum_that_belongs_to_it() {
    for old in 0..=255 {
        for new in [0, 1, 2, 3, 0xb8, 0xff, old] {
            let mut p = packet(old, flag::ACK, &[], 10);
            assert_eq!(sum(&p[..20]), 0xffff, "as built");
            set_tos(&mut p, new);
            assert_eq!((p[1], sum(&p[..20])), (new, 0xffff), "{old:#x} to {new:#x}");
        }
    }
}

#[test]
fn addresses_ports_numbers_and_payload_are_found() {
    let p = packet(0x02, flag::ACK | flag::FIN, &[1, 1, 1, 1], 1448);
    let ip = Ip::parse(&p).expect("IPv4");
    assert_eq!((ip.source, ip.destination), (0x0a01_0001, 0x0a02_0001));
    assert_eq!((ip.total, ip.tos), (1492, 2));
    let tcp = ip.tcp(&p).expect("TCP");
    assert_eq!((tcp.source, tcp.destination, tcp.seq, tcp.ack), (50_000, 5_201, 1_000, 70_000));
    assert_eq!(tcp.payload, 1448);
    assert!(tcp.has(flag::FIN) && !tcp.has(flag::SYN));
    assert_eq!(tcp.pure_ack(&p), None);
}

#[test]
fn a_pure_ack_shows_timestamp_and_sack_blocks() {
    let mut options = vec![1, 1, 8, 10, 0, 0, 0, 77, 0, 0, 0, 9, 1, 1, 5, 18];
    for number in [80_000u32, 81_448, 90_000, 92_896] {
        options.extend(number.to_be_bytes());
    }
    let p = packet(0, flag::ACK | flag::ECE, &options, 0);
    let ack =
        Ip::parse(&p).and_then(|ip| ip.tcp(&p)).and_then(|tcp| tcp.pure_ack(&p)).expect("ack");
    assert_eq!((ack.ack, ack.ts_val, ack.ecn_flags, ack.n_sacks), (70_000, 77, 1, 2));
    assert_eq!(ack.sacks[..2], [(80_000, 81_448), (90_000, 92_896)]);
    assert!(!ack.is_dsack);
}

#[test]
fn a_block_below_the_acknowledgement_or_within_the_second_reports_a_duplicate() {
    for (blocks, expected) in [
        (vec![(60_000, 61_448)], true),
        (vec![(80_000, 81_448)], false),
        (vec![(90_000, 91_448), (90_000, 95_000)], true),
    ] {
        let mut options = vec![5, 2 + 8 * blocks.len() as u8];
        blocks.iter().for_each(|&(start, end): &(u32, u32)| {
            options.extend(start.to_be_bytes());
            options.extend(end.to_be_bytes());
        });
        options.resize(options.len().next_multiple_of(4), 0);
        let p = packet(0, flag::ACK, &options, 0);
        let ack = Ip::parse(&p).and_then(|ip| ip.tcp(&p)).and_then(|tcp| tcp.pure_ack(&p));
        assert_eq!(ack.expect("ack").is_dsack, expected, "{blocks:?}");
    }
}

#[test]
fn whatever_the_bytes_parsing_ends() {
    let whole = packet(0, flag::ACK, &[5, 18, 0, 0, 8, 10, 0, 0], 4);
    let mut draw = 1u32;
    for round in 0..20_000 {
        let mut p = whole.clone();
        for _ in 0..4 {
            draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = (draw >> 8) as usize % p.len();
            p[at] = (draw >> 24) as u8;
        }
        p.truncate(round % (whole.len() + 1));
        let Some(ip) = Ip::parse(&p) else { continue };
        ip.flow_hash(&p);
        if let Some(tcp) = ip.tcp(&p) {
            tcp.pure_ack(&p);
        }
    }
}

#[test]
fn flows_hash_apart_and_packets_of_one_together() {
    let one = packet(0, flag::ACK, &[], 5);
    let mut other = packet(3, flag::SYN, &[], 900);
    let hash = |p: &[u8]| Ip::parse(p).expect("IPv4").flow_hash(p);
    assert_eq!(hash(&one), hash(&other));
    other[21] ^= 1;
    assert_ne!(hash(&one), hash(&other));
}
