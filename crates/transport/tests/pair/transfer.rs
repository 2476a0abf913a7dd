//! Whole transfers, whatever happens to them.

use crate::pair::{Pair, Sent, Setup, Verdict};
use cca::Module;
use net::rng::Rng;
use proptest::prelude::*;
use transport::tcp::{EcnMode, HostConfig, HostQdisc};
use units::Span;

/// Loses, delays or delivers by the drawing of a stream.
fn random_verdicts(seed: u64) -> impl FnMut(Sent) -> Verdict {
    let mut rng = Rng::stream(seed, "fate");
    move |_| match rng.below(100) {
        0..=1 => Verdict::Drop,
        2..=4 => Verdict::Delay(Span::from_us(rng.below(30_000))),
        _ => Verdict::Deliver,
    }
}

#[test]
fn a_finite_transfer_completes_under_random_loss_and_reordering_with_every_controller() {
    for module in Module::all() {
        for seed in 0..8 {
            let config = HostConfig {
                qdisc: [HostQdisc::Fq, HostQdisc::Pfifo][seed & 1],
                tso: seed & 2 != 0,
                gro: seed & 4 != 0,
                rcvlowat: 1,
                ..HostConfig::default()
            };
            let setup = Setup { cca: module.name(), config, segments: 3000, ..Setup::default() };
            let pair = Pair::new(setup, random_verdicts(seed as u64)).drive(600);
            let stats = pair.sender.stats();
            assert!(stats.retrans_segs > 20, "{} seed {seed}: {stats:?}", module.name());
            assert_eq!(stats.segs_sent, 3000 + stats.retrans_segs);
            assert_eq!(pair.sent.len() as u64, stats.segs_sent);
        }
    }
}

/// The window that a connection starts with, and what it has sent before the first acknowledgement of data.
fn first_flight(cca: &'static str, initial_window: u32) -> (u32, usize) {
    let config = HostConfig { initial_window, ..Setup::default().config };
    let setup = Setup { cca, config, segments: 100, ..Setup::default() };
    let pair = Pair::new(setup, |_| Verdict::Deliver).drive_for(Span::from_ms(190));
    (pair.sender.sk.snd_cwnd, pair.sent.len())
}

#[test]
fn every_controller_starts_with_the_window_of_the_route() {
    for module in Module::all() {
        for window in [1, 3, 10, 32] {
            let (cwnd, sent) = first_flight(module.name(), window);
            assert_eq!((cwnd, sent), (window, window as usize), "{}", module.name());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Data and ACKs lost, late and out of order: the counters stay consistent at every step (`Pair`
    /// checks that) and the transfer ends.
    #[test]
    fn any_path_that_delivers_something_ends_in_a_complete_transfer(
        seed in any::<u64>(), segments in 1..400u32, switches in any::<[bool; 4]>(),
        ecn in prop::sample::select(vec![EcnMode::Off, EcnMode::Classic, EcnMode::Accurate]),
        losses in (0..30u64, 0..30u64), delays in (0..30u64, 0..30u64),
        cca in prop::sample::select(Module::all().iter().map(Module::name).collect::<Vec<_>>()),
        hz in prop::sample::select(vec![100, 250, 1000]), one_way_us in 1..100_000u64,
    ) {
        let [fq, tso, gro, delayed_ack] = switches;
        let qdisc = if fq { HostQdisc::Fq } else { HostQdisc::Pfifo };
        let config = HostConfig { hz, qdisc, tso, gro, delayed_ack, ..Setup::default().config };
        let one_way = Span::from_us(one_way_us);
        let setup = Setup { cca, config, segments, one_way, ecn, ..Setup::default() };
        let mut data = verdicts(Rng::stream(seed, "data"), losses.0, delays.0);
        let mut acks = verdicts(Rng::stream(seed, "acks"), losses.1, delays.1);
        Pair::new(setup, move |_| data()).with_acks(move |ack| match ack.is_syn() {
            true => Verdict::Deliver,
            false => acks(),
        })
        .drive(40_000);
    }
}

/// Verdicts with these percentages of losses, and of delays of up to 200 ms.
fn verdicts(mut rng: Rng, losses: u64, delays: u64) -> impl FnMut() -> Verdict {
    move || match rng.below(100) {
        n if n < losses => Verdict::Drop,
        n if n < losses + delays => Verdict::Delay(Span::from_us(rng.below(200_000))),
        99 => Verdict::Mark,
        _ => Verdict::Deliver,
    }
}

#[test]
fn a_transfer_of_one_to_thirty_segments_completes_whichever_segment_is_lost() {
    for segments in 1..=30 {
        for lost in 0..segments {
            let verdict = |sent: Sent| match (sent.seq == lost, sent.copy) {
                (true, 0) => Verdict::Drop,
                _ => Verdict::Deliver,
            };
            let pair = Pair::new(Setup { segments, ..Setup::default() }, verdict).drive(5);
            assert!(pair.sender.stats().rtos <= 1, "{lost} of {segments}");
        }
    }
}

/// A scoreboard that walked the queue for every ACK would take 2 x 10^10 steps here and not end.
#[test]
fn two_hundred_thousand_segments_in_flight_with_losses_stay_fast() {
    const N: u32 = 200_000;
    let config = HostConfig { rcvbuf: (1 << 30, 1 << 30), ..Setup::default().config };
    let (one_way, serialization) = (Span::from_ms(1000), Span::from_us(1));
    let setup = Setup { segments: 2 * N, config, one_way, serialization, ..Setup::default() };
    let mut pair = Pair::new(setup, |sent| match sent.copy == 0 && sent.seq % 997 == 500 {
        true => Verdict::Drop,
        false => Verdict::Deliver,
    });
    pair = pair.drive_for(Span::from_ms(2001));
    pair.sender.sk.snd_cwnd = N;
    let pair = pair.drive(600);
    assert!(pair.max_in_flight > N / 2, "{}", pair.max_in_flight);
    assert_eq!(pair.sender.stats().retrans_segs, u64::from(2 * N / 997));
}
