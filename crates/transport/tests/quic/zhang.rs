//! The settings of Zhang's sender. A round trip takes 100.1 ms, packets of a burst arrive 0.1 ms apart.

use crate::losing;
use crate::pair::{Pair, Setup};
use cca::CaState;
use transport::common::SenderEvent;
use transport::quic::Config;
use units::Span;

fn each_acked() -> Config {
    Config { ack_every: 1, ..Setup::default().config }
}

#[test]
fn with_a_threshold_of_one_any_gap_is_a_loss() {
    let config = Config { packet_threshold: 1, ..each_acked() };
    let pair =
        Pair::new(Setup { segments: 10, config, ..Setup::default() }, losing(&[4])).drive(10);
    let carriers = pair.carriers(4);
    // The packet of segment 5 is the fifth to arrive.
    assert_eq!(carriers[1].at.since(carriers[0].at).as_us(), 100_000 + 5 * 100);
    assert_eq!(pair.sender.stats().lost, 1);
}

#[test]
fn a_clock_of_a_millisecond_paces_and_measures_in_it() {
    let mut setup = Setup { segments: u32::MAX, config: Config::default(), ..Setup::default() };
    setup.config = Config { initial_window: 70, clock: Span::from_ms(1), ..setup.config };
    let pair = Pair::new(setup, losing(&[])).drive_for(Span::from_ms(195));
    let at: Vec<u64> = pair.sent.iter().map(|sent| sent.at.as_us()).collect();
    assert!(at[10..].iter().all(|us| us % 1_000 == 0), "{at:?}");
    // 100 ms / 1.25 / 70 = 1.143 ms: alarms go off early within their millisecond, and the rate stays.
    let late: Vec<i64> =
        (10..70).map(|i| at[i] as i64 - at[9] as i64 - (i as i64 - 9) * 8_000 / 7).collect();
    assert!(late.iter().all(|us| (-3_000..=0).contains(us)), "{late:?}");
    assert_eq!(pair.sender.last_rtt_us() % 1_000, 0);
}

#[test]
fn a_tail_loss_waits_for_the_retransmission_timeout_of_which_the_controller_hears_nothing() {
    let config = Config { rto_min: Span::from_ms(200), ..each_acked() };
    let pair =
        Pair::new(Setup { segments: 10, config, ..Setup::default() }, losing(&[8, 9])).drive(10);
    // The last ACK is that of segment 7, the eighth packet of the burst.
    let heard = pair.sent[7].at + Span::from_us(100_000 + 8 * 100);
    assert_eq!(pair.sent[10].at.since(heard).as_us(), 200_000);
    let again: Vec<u32> = pair.sent[10..].iter().map(|sent| sent.segment).collect();
    assert_eq!(again, [8, 9]);
    assert_eq!((pair.sender.stats().rtos, pair.sender.stats().tlps), (1, 0));
    assert_eq!(pair.count(SenderEvent::CaState(CaState::Loss)), 0);
    assert_eq!(pair.count(SenderEvent::CaState(CaState::Recovery)), 0);
}

#[test]
fn a_write_of_3000_bytes_leaves_in_packets_of_1400_1400_and_200() {
    let config = Config { payload: 1400, write: 3000, ..each_acked() };
    let pair = Pair::new(Setup { segments: 6, config, ..Setup::default() }, losing(&[])).drive(10);
    assert_eq!(pair.receiver.stats().delivered_bytes, 3000 + 1400 + 1400 + 1);
    // A window of ten packets of the mean size: nine come to less, the tenth is a large one.
    let config = Config { pacing: false, handshake: false, ..config };
    let setup = Setup { segments: u32::MAX, config, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[])).drive_for(Span::from_ms(50));
    assert_eq!(pair.sent.len(), 10);
}

#[test]
fn a_polled_sender_sends_one_packet_each_time() {
    let config = Config { poll: Span::from_us(500), clock: Span::from_ms(1), ..each_acked() };
    let setup = Setup { segments: u32::MAX, config, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[])).drive_for(Span::from_ms(300));
    let at: Vec<u64> = pair.sent.iter().map(|sent| sent.at.as_us()).collect();
    assert!(at.iter().all(|us| us % 500 == 0), "{at:?}");
    assert!(at[..10].windows(2).all(|pair| pair[1] - pair[0] == 500), "{at:?}");
    // One more leaves where the pacer's alarm goes off.
    assert!(at.windows(3).all(|three| three[2] > three[0]), "{at:?}");
}

#[test]
fn an_assumed_rtt_that_counts_stays_the_minimum_of_a_longer_path() {
    let initial_rtt = Span::from_ms(90);
    let config = Config { initial_rtt, initial_sample: true, ..each_acked() };
    let setup = Setup { segments: 20, config, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[])).drive(10);
    assert_eq!(pair.sender.sk.rtt_min.value(), 90_000);
}
