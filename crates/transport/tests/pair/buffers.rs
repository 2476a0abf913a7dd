//! Buffers that limit a flow.

use crate::losing;
use crate::pair::{Pair, Setup, MSS};
use transport::tcp::HostConfig;
use units::Span;

#[test]
fn the_receive_window_limits_what_is_in_flight_and_the_rate_is_a_window_per_round_trip() {
    let config = HostConfig { rcvbuf: (131_072, 131_072), ..Setup::default().config };
    let setup = Setup { segments: u32::MAX, config, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[])).drive_for(Span::from_ms(10_000));
    // 131072 bytes of buffer hold 82944 of payload: 57 segments.
    assert_eq!(pair.max_in_flight, 82_944 / MSS);
    let windows = pair.receiver.stats().delivered_bytes / u64::from(57 * MSS);
    // 98.9 round trips, less what slow start with 10, 20 and 40 leaves unused and the last one under way.
    assert!((95..=97).contains(&windows), "{windows} windows in 9.9 s");
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
