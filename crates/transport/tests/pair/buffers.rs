//! Buffers that limit a flow.

use crate::losing;
use crate::pair::{Pair, Setup, MSS};
use transport::app::Write;
use transport::tcp::HostConfig;
use units::Span;

#[test]
fn the_receive_window_limits_what_is_in_flight_and_the_rate_is_a_window_per_round_trip() {
    let config = HostConfig { rcvbuf: (132_716, 132_716), ..Setup::default().config };
    let setup = Setup { segments: u32::MAX, config, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[])).drive_for(Span::from_ms(10_000));
    // 132716 bytes of buffer hold a segment of 2280 and 82536 of payload: 57 segments.
    assert_eq!(pair.max_in_flight, 82_536 / MSS);
    let windows = pair.receiver.stats().delivered_bytes / u64::from(57 * MSS);
    // 98.9 round trips, less what slow start with 10, 20 and 40 leaves unused and the last one under way.
    assert!((95..=97).contains(&windows), "{windows} windows in 9.9 s");
}

#[test]
fn the_last_segment_is_cut_where_the_receive_window_ends() {
    let config = HostConfig { rcvbuf: (131_072, 131_072), tso: true, ..Setup::default().config };
    let one_way = Span::from_us(500);
    let setup = Setup { segments: 3_000, one_way, config, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[])).drive(60);
    let short = pair.lens.iter().filter(|&&len| u32::from(len) < MSS).count();
    assert!(short > 0 && pair.max_in_flight >= 57, "{short} of {}", pair.lens.len());
    assert_eq!(pair.receiver.stats().delivered_bytes, 3_000 * u64::from(MSS));
}

#[test]
fn the_send_buffer_limits_what_is_in_flight() {
    let config = HostConfig { sndbuf: u64::from(30 * MSS), ..Setup::default().config };
    let setup = Setup { segments: u32::MAX, config, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[])).drive_for(Span::from_ms(3_000));
    assert_eq!(pair.max_in_flight, 30);
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let config = HostConfig { sndbuf: u64::from(30 * MSS), ..Setup::default().config };
    let setup = Setup { segments: u32::MAX, config, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[])).drive_for(Span::from_ms(20_000));
    // Slow start stops once less than half of the window was in use, at most one ACK later.
    assert!((60..=62).contains(&pair.sender.sk.snd_cwnd), "{}", pair.sender.sk.snd_cwnd);
}

/// 1 Gbit/s and 20 ms, and 50 Mbit/s and 40 ms: one-way delay, ms, and time of a full packet on the link, us.
const GIGABIT: (u64, u64) = (10, 12);
const DSL: (u64, u64) = (20, 242);

/// An application with a transfer of `segments` (0: with nothing yet), writing `write` bytes at a time, paced by `fq`.
fn writer(segments: u32, write: u64, (one_way_ms, packet_us): (u64, u64)) -> Pair<'static> {
    let config = HostConfig { write, ..HostConfig::default() };
    let (one_way, serialization) = (Span::from_ms(one_way_ms), Span::from_us(packet_us));
    let setup = Setup { segments, config, one_way, serialization, ..Setup::default() };
    Pair::new(setup, losing(&[]))
}

#[test]
fn the_first_write_ends_where_the_send_buffer_of_a_running_kernel_is_full() {
    let pair = writer(u32::MAX, 262_144, GIGABIT).drive_for(Span::from_ms(25));
    // Buffers of 22 segments (half of a window of 65,535 bytes), filled up while the first ten segments leave: Linux 6.12
    // took 46,336 bytes, and SO_MEMINFO said that they were 51,328 bytes of memory, of 46,080.
    assert_eq!(pair.sender.window().1, 10);
    assert_eq!(pair.sender.written(), 46_336);
    let pair = pair.drive_for(Span::from_ms(20));
    // The next write takes 44,888 bytes once a third of the buffer, now for windows of 15 segments, is free.
    assert_eq!(pair.sender.written(), 46_336 + 44_888);
}

#[test]
fn an_application_that_always_has_more_takes_no_more_memory_than_the_host_allows() {
    // Buffers of one segment take 1448 + 832 bytes: the 439th is the last one that begins below a million bytes. A writer
    // that was stopped goes on when a third is free.
    let (write, sndbuf) = (100 * u64::from(MSS), 1_000_000);
    let config = HostConfig { write, sndbuf, ..Setup::default().config };
    let setup = Setup { segments: u32::MAX, config, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[])).drive_for(Span::from_ms(3_000));
    let most = 1_000_000_u32.div_ceil(1448 + 832);
    assert!((most * 2 / 3..=most).contains(&pair.max_in_flight), "{}", pair.max_in_flight);
}

#[test]
fn a_transfer_of_a_given_size_is_written_as_the_send_buffer_takes_it_and_then_closed() {
    let endless = writer(u32::MAX, 262_144, GIGABIT).drive_for(Span::from_ms(45));
    let pair = writer(1_000, 262_144, GIGABIT).drive_for(Span::from_ms(45));
    assert_eq!(pair.sender.written(), endless.sender.written(), "as one without end");
    assert!(!pair.sender.is_complete());
    let pair = pair.drive(60);
    assert_eq!(pair.sender.written(), 1_000 * u64::from(MSS));
    assert_eq!(pair.receiver.stats().delivered_bytes, 1_000 * u64::from(MSS));
    assert!(pair.sender.is_complete());
}

#[test]
fn a_long_message_is_written_as_the_send_buffer_takes_it() {
    let mut pair = writer(0, 262_144, GIGABIT).drive_for(Span::from_ms(20));
    pair.supply(Write::Bytes(1_000 * u64::from(MSS)));
    // As the first write of one that always has more.
    assert_eq!(pair.sender.written(), 46_336);
    assert_eq!(pair.sender.offered(), 1_000 * u64::from(MSS));
    pair.supply(Write::Close);
    pair = pair.drive_for(Span::from_ms(25));
    assert_eq!(pair.sender.written(), 46_336 + 44_888);
    assert!(!pair.sender.is_complete());
    let pair = pair.drive(60);
    assert!(pair.sender.is_complete());
    assert_eq!(pair.sender.written(), 1_000 * u64::from(MSS));
}

#[test]
fn the_send_buffer_grows_after_a_last_write_that_left_it_full() {
    // 100 kB each 80 ms over 50 Mbit/s and 40 ms, from 80 ms on: Linux 6.12 took the third message at once, when much of the
    // second was unacknowledged, because an application that looks for room and finds none is told of it (`tcp_poll`).
    let mut pair = writer(0, 262_144, DSL).drive_for(Span::from_ms(80));
    for _ in 0..2 {
        pair.supply(Write::Bytes(100_000));
        pair = pair.drive_for(Span::from_ms(80));
    }
    assert!(pair.sender.in_flight() > 50);
    pair.supply(Write::Bytes(100_000));
    assert_eq!(pair.sender.written(), 300_000);
}

#[test]
fn a_short_segment_waits_while_the_host_has_more_than_twice_its_own_memory() {
    // Writes of 16,384 bytes; one ends 672 bytes into segment 124. While the host has a burst of two full segments, 3728 bytes
    // of memory, a full one may go down behind it (2 x 2280), but not one of 672 bytes (2 x 1504): the next write fills it up.
    let pair = writer(690, 16_384, (50, 242)).drive(60);
    let shorter = pair.lens.iter().filter(|&&len| u32::from(len) < MSS).count();
    assert_eq!((u32::from(pair.lens[124]), shorter), (MSS, 2));
}

#[test]
fn the_last_burst_is_deferred_as_if_more_followed() {
    // No FIN tells TCP that nothing does (`tcp_tso_should_defer`).
    let sent_at = |segments, seq| {
        let pair = writer(segments, 262_144, DSL).drive(60);
        pair.sent.iter().find(|sent| sent.seq == seq).expect("it was sent").at
    };
    for seq in 290..300 {
        assert_eq!(sent_at(300, seq), sent_at(310, seq), "segment {seq}");
    }
}

#[test]
fn the_send_buffer_grows_while_an_ack_lets_bursts_out_one_after_the_other() {
    // The receiver merges segments, so that an ACK lets several bursts out. After the first of them the window is not full yet
    // (`tcp_event_new_data_sent`): the third write comes 2 ms earlier than if only the end of the ACK counted.
    let (one_way_ms, packet_us) = GIGABIT;
    let (one_way, serialization) = (Span::from_ms(one_way_ms), Span::from_us(packet_us));
    let config = HostConfig { write: 262_144, gro: true, ..HostConfig::default() };
    let setup = Setup { segments: u32::MAX, config, one_way, serialization, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[])).drive_for(Span::from_ms(63));
    assert_eq!(pair.sender.written(), 191_136);
}
