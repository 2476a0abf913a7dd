//! Whole transfers, whatever happens to them. `Pair` checks at every step that each segment reaches the
//! application once and in order, and that numbers, ranges and windows agree.

use crate::line::{at_s, Line};
use crate::losing;
use crate::pair::{Pair, Setup, Verdict};
use cca::Module;
use net::rng::Rng;
use proptest::prelude::*;
use transport::quic::Config;
use units::Span;

/// Loses, delays, duplicates, marks or delivers by the drawing of a stream.
fn verdicts(mut rng: Rng, losses: u64, delays: u64) -> impl FnMut() -> Verdict {
    move || match rng.below(100) {
        n if n < losses => Verdict::Drop,
        n if n < losses + delays => Verdict::Delay(Span::from_us(rng.below(200_000))),
        97 | 98 => Verdict::Twice(Span::from_us(rng.below(200_000))),
        99 => Verdict::Mark,
        _ => Verdict::Deliver,
    }
}

#[test]
fn a_transfer_without_loss_sends_each_segment_once() {
    let pair = Pair::new(Setup { segments: 3000, ..Setup::default() }, losing(&[])).drive(30);
    assert_eq!(pair.sent.len(), 3000);
    assert!(pair.sent.iter().all(|sent| sent.number == sent.segment && !sent.is_retrans));
    let stats = pair.sender.stats();
    assert_eq!((stats.lost, stats.tlps, stats.retrans_segs, stats.delivered), (0, 0, 0, 3000));
    assert_eq!(stats.bytes_sent, 2999 * 1000 + 1);
}

#[test]
fn a_transfer_of_one_to_thirty_segments_completes_whichever_packet_is_lost() {
    for segments in 1..=30 {
        for lost in 0..segments {
            let verdict = |sent: crate::pair::Sent| match sent.number == lost {
                true => Verdict::Drop,
                false => Verdict::Deliver,
            };
            let pair = Pair::new(Setup { segments, ..Setup::default() }, verdict).drive(5);
            let carriers = pair.carriers(lost);
            assert!(carriers.len() >= 2, "{lost} of {segments}");
            assert!(pair.sender.stats().lost > 0 || pair.sender.stats().tlps > 0);
        }
    }
}

#[test]
fn every_controller_runs_20_s_over_a_pipe_with_a_short_buffer() {
    for module in Module::all() {
        let setup = Setup {
            cca: module.name(),
            config: Config::default(),
            segments: u32::MAX,
            one_way: Span::from_ms(20),
            serialization: Span::from_us(800),
            buffer: 50,
        };
        let pair = Pair::new(setup, losing(&[])).drive_for(Span::from_ms(20_000));
        let delivered = pair.receiver.stats().delivered_bytes;
        // 10 Mbit/s with a buffer of one BDP: 25 MB.
        assert!(
            (20_000_000..25_000_000).contains(&delivered),
            "{}: {delivered} bytes, {:?}",
            module.name(),
            pair.sender.stats()
        );
    }
}

#[test]
fn two_hundred_thousand_packets_in_flight_with_losses_stay_fast() {
    const N: u32 = 200_000;
    let (one_way, serialization) = (Span::from_ms(1000), Span::from_us(1));
    let config = Config { initial_window: N, ..Setup::default().config };
    let setup = Setup { segments: N, config, one_way, serialization, ..Setup::default() };
    let mut line = Line::new(setup);
    let is_lost = |number: u32| number < N && number % 997 == 500;
    line.drive(at_s(60), is_lost);
    assert!(line.sender.is_complete());
    assert_eq!(line.sender.stats().lost, (0..N).filter(|&number| is_lost(number)).count() as u64);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_path_that_delivers_something_ends_in_a_complete_transfer(
        seed in any::<u64>(), segments in 1..400u32, switches in any::<[bool; 4]>(),
        losses in (0..30u64, 0..30u64), delays in (0..30u64, 0..30u64), ack_every in 1..11u32,
        cca in prop::sample::select(Module::all().iter().map(Module::name).collect::<Vec<_>>()),
        one_way_us in 1..100_000u64,
    ) {
        let [pacing, handshake, ecn, undo] = switches;
        let config = Config { pacing, handshake, ecn, undo, ack_every, ..Config::default() };
        let one_way = Span::from_us(one_way_us);
        let setup = Setup { cca, config, segments, one_way, ..Setup::default() };
        let mut data = verdicts(Rng::stream(seed, "data"), losses.0, delays.0);
        let mut acks = verdicts(Rng::stream(seed, "acks"), losses.1, delays.1);
        let pair = Pair::new(setup, move |_| data()).with_acks(move |_| acks()).drive(3_000);
        let stats = pair.sender.stats();
        prop_assert_eq!(stats.segs_sent, u64::from(segments) + stats.retrans_segs);
        prop_assert_eq!(stats.segs_sent, pair.sent.len() as u64);
    }
}
