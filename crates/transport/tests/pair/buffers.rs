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
