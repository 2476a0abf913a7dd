//! Buffers that limit a flow.

use crate::losing;
use crate::pair::{Pair, Setup, MSS};
use transport::tcp::HostConfig;
use units::Span;

#[test]
fn the_receive_window_limits_what_is_in_flight_and_the_rate_is_a_window_per_round_trip() {
    let config = HostConfig { rcvbuf: (132_716, 132_716), ..Setup::default().config };
    let setup = Setup { segments: u32::MAX, config, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[])).drive_for(Span::from_ms(10_000));
    // 132716 bytes of buffer hold a segment of 2288 and 82536 of payload: 57 segments.
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

/// An application that always has more, writing 256 kB at a time, over 1 Gbit/s and 20 ms, paced by `fq`.
fn writer(sndbuf: u64) -> Pair<'static> {
    let config = HostConfig { write: 262_144, sndbuf, ..HostConfig::default() };
    let (one_way, serialization) = (Span::from_ms(10), Span::from_us(12));
    let setup = Setup { segments: u32::MAX, config, one_way, serialization, ..Setup::default() };
    Pair::new(setup, losing(&[]))
}

#[test]
fn the_first_write_ends_where_the_send_buffer_of_a_running_kernel_is_full() {
    let pair = writer(u64::MAX).drive_for(Span::from_ms(25));
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
    let endless = writer(u64::MAX).drive_for(Span::from_ms(45));
    let config = HostConfig { write: 262_144, ..HostConfig::default() };
    let (one_way, serialization) = (Span::from_ms(10), Span::from_us(12));
    let setup = Setup { segments: 1_000, config, one_way, serialization, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[])).drive_for(Span::from_ms(45));
    assert_eq!(pair.sender.written(), endless.sender.written(), "as one without end");
    assert!(!pair.sender.is_complete());
    let pair = pair.drive(60);
    assert_eq!(pair.sender.written(), 1_000 * u64::from(MSS));
    assert_eq!(pair.receiver.stats().delivered_bytes, 1_000 * u64::from(MSS));
    assert!(pair.sender.is_complete());
}
