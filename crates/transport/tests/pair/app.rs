//! Applications that write in pieces, pause, or answer requests.

use crate::losing;
use crate::pair::{Pair, Sent, Setup, Verdict, MSS};
use cca::Module;
use net::rng::Rng;
use net::{flags, Ack};
use proptest::prelude::*;
use transport::app::{Burst, Length, Message, Workload, Write};
use transport::tcp::{HostConfig, HostQdisc};
use units::{Rate, Span, Time};

const FULL: u64 = MSS as u64;

fn ms(ms: u64) -> Span {
    Span::from_ms(ms)
}

/// A connection that is open, at 150 ms, with nothing written yet.
fn open(cca: &'static str, config: HostConfig) -> Pair<'static> {
    let setup = Setup { cca, config, segments: 0, ..Setup::default() };
    Pair::new(setup, losing(&[])).drive_for(ms(150))
}

fn plain() -> HostConfig {
    Setup::default().config
}

/// Window before and after an idle time that follows 300 segments, and the threshold then.
fn window_after_idle(cca: &'static str, config: HostConfig, idle: Span) -> (u32, u32, u32) {
    let mut pair = open(cca, config);
    pair.supply(Write::Bytes(300 * FULL));
    pair = pair.drive_for(ms(1000));
    assert_eq!(pair.sender.sk.packets_out, 0);
    let last = pair.sent.last().expect("300 segments").at;
    pair = pair.drive_for(idle);
    let (before, ssthresh) = (pair.sender.sk.snd_cwnd, pair.sender.sk.snd_ssthresh);
    assert!(pair.now.since(last) > idle);
    pair.supply(Write::Bytes(FULL));
    assert!(pair.sender.sk.snd_ssthresh == ssthresh || ssthresh > before);
    (before, pair.sender.sk.snd_cwnd, pair.sender.sk.snd_ssthresh)
}

#[test]
fn idle_longer_than_the_rto_restarts_from_the_restart_window() {
    for cca in ["reno", "cubic"] {
        for initial_window in [3, 10, 32] {
            let config = HostConfig { initial_window, ..plain() };
            let (before, after, ssthresh) = window_after_idle(cca, config, ms(5_000));
            assert!(before > 100, "{cca}: {before}");
            assert_eq!(after, initial_window, "{cca}");
            assert!(ssthresh >= before / 4 * 3, "{cca}");
        }
    }
}

#[test]
fn each_rto_of_idle_time_halves_the_window() {
    // The last send is 550 to 600 ms before this write, the RTO about 300 ms: once over, one halving.
    let mut pair = open("reno", plain());
    pair.supply(Write::Bytes(300 * FULL));
    while pair.sender.sk.packets_out > 0 {
        pair = pair.drive_for(ms(1));
    }
    let (cwnd, rto) = (pair.sender.sk.snd_cwnd, u64::from(pair.sender.sk.icsk_rto));
    let last = pair.sent.last().expect("300 segments").at;
    let wait = (last + ms(2 * rto - 10)).since(pair.now);
    pair = pair.drive_for(wait);
    pair.supply(Write::Bytes(FULL));
    assert_eq!(pair.sender.sk.snd_cwnd, cwnd / 2);
}

#[test]
fn idle_less_than_the_rto_and_the_switch_keep_the_window() {
    let mut pair = open("reno", plain());
    pair.supply(Write::Bytes(300 * FULL));
    while pair.sender.sk.packets_out > 0 {
        pair = pair.drive_for(ms(1));
    }
    let cwnd = pair.sender.sk.snd_cwnd;
    pair = pair.drive_for(ms(100));
    pair.supply(Write::Bytes(FULL));
    assert_eq!(pair.sender.sk.snd_cwnd, cwnd);
    let config = HostConfig { slow_start_after_idle: false, ..plain() };
    let (before, after, _) = window_after_idle("reno", config, ms(5_000));
    assert_eq!(after, before);
}

#[test]
fn bbr_keeps_its_window_over_idle_times() {
    for cca in ["bbr", "bbr2", "bbr3"] {
        let (before, after, _) = window_after_idle(cca, plain(), ms(5_000));
        assert_eq!(after, before, "{cca}");
    }
}

#[test]
fn samples_of_an_application_limited_flow_do_not_lower_the_bandwidth_of_bbr() {
    let config = HostConfig { qdisc: HostQdisc::Fq, ..plain() };
    let setup = Setup { cca: "bbr", config, segments: 0, one_way: ms(10), ..Setup::default() };
    let mut pair = Pair::new(setup, losing(&[])).drive_for(ms(50));
    let bandwidth = |p: &Pair<'_>| p.sender.sk.controller().info(&p.sender.sk).bw().expect("BBR");
    pair.supply(Write::Greedy);
    pair = pair.drive_for(ms(3_000));
    pair.supply(Write::Pause);
    let busy = bandwidth(&pair);
    // The link gives 1448 bytes each 121 us.
    assert!((11_300_000..=12_100_000).contains(&busy), "{busy} B/s");
    for _ in 0..500 {
        // 145 kB/s, for 10 s: hundreds of rounds, and ten make the filter's window.
        pair = pair.drive_for(ms(20));
        pair.supply(Write::Bytes(2 * FULL));
    }
    assert!(bandwidth(&pair) >= busy / 100 * 95, "{} B/s", bandwidth(&pair));
}

#[test]
fn bbr_paces_at_the_bandwidth_when_it_restarts_after_idle_time() {
    let config = HostConfig { qdisc: HostQdisc::Fq, ..plain() };
    let setup = Setup { cca: "bbr", config, segments: 0, one_way: ms(10), ..Setup::default() };
    let mut pair = Pair::new(setup, losing(&[])).drive_for(ms(50));
    pair.supply(Write::Greedy);
    pair = pair.drive_for(ms(3_000));
    pair.supply(Write::Pause);
    pair = pair.drive_for(ms(1_000));
    pair.supply(Write::Bytes(100 * FULL));
    let sk = &pair.sender.sk;
    let bw = pair.sender.sk.controller().info(sk).bw().expect("BBR");
    // Whatever phase of gain it stopped in: bandwidth less the pacing margin of 1 %.
    assert!(sk.sk_pacing_rate.abs_diff(bw / 100 * 99) <= bw / 200, "{} of {bw}", sk.sk_pacing_rate);
    assert!(sk.app_limited > 0);
}

#[test]
fn a_rate_limited_application_does_not_grow_its_window_beyond_what_it_uses() {
    for cca in ["reno", "cubic", "htcp"] {
        // A segment each 5 ms: 20 a round trip.
        let workload = Workload::Paced { rate: Rate::from_bps(8 * 1448 * 200), message: FULL };
        let setup = Setup { cca, segments: 0, app: Some(workload), ..Setup::default() };
        let pair = Pair::new(setup, losing(&[])).drive_for(ms(30_000));
        // Twenty in flight, and what gathered while the initial window was too small.
        assert!(pair.max_in_flight <= 40, "{cca}: {}", pair.max_in_flight);
        let cwnd = pair.sender.sk.snd_cwnd;
        assert!(cwnd <= 2 * pair.max_in_flight, "{cca}: {cwnd}");
        let completed = pair.app().messages().iter().filter(|m| m.completed.is_set()).count();
        assert!((5_950..=5_970).contains(&completed), "{completed}");
    }
}

#[test]
fn with_nodelay_each_write_is_a_segment_with_push() {
    let mut pair = open("reno", plain());
    for bytes in [100, 200, 300] {
        pair.supply(Write::Bytes(bytes));
        pair = pair.drive_for(ms(1));
    }
    assert_eq!(pair.lens, [100, 200, 300]);
    assert!(pair.sent.iter().all(|s| s.flags & flags::PUSH != 0));
    assert_eq!(pair.drive_for(ms(100)).receiver.stats().delivered_bytes, 600);
}

#[test]
fn nagle_holds_a_short_segment_while_another_is_outstanding_and_fills_it() {
    let mut pair = open("reno", HostConfig { nodelay: false, ..plain() });
    for bytes in [100, 200, 300] {
        pair.supply(Write::Bytes(bytes));
        pair = pair.drive_for(ms(1));
    }
    assert_eq!(pair.lens, [100]);
    pair = pair.drive_for(ms(100));
    assert_eq!(pair.lens, [100, 500]);
    assert_eq!(pair.sent[1].at.since(pair.sent[0].at).as_us(), 100_121);
}

#[test]
fn nagle_lets_a_short_segment_go_behind_full_ones_and_holds_the_last_one_of_the_stream() {
    let mut pair = open("reno", HostConfig { nodelay: false, ..plain() });
    // Minshall's modification: only short ones hold short ones back.
    pair.supply(Write::Bytes(2 * FULL + 100));
    assert_eq!(pair.lens, [1448, 1448, 100]);
    pair.supply(Write::Bytes(FULL + 50));
    assert_eq!(pair.lens, [1448, 1448, 100, 1448]);
    // No FIN goes with it, which would let it go.
    pair.supply(Write::Close);
    assert_eq!(pair.lens, [1448, 1448, 100, 1448]);
    let pair = pair.drive(1);
    assert_eq!(pair.lens[4..], [50]);
    assert_eq!(pair.receiver.stats().delivered_bytes, 3 * FULL + 150);
}

#[test]
fn writes_that_wait_for_the_window_are_cut_into_full_segments() {
    let mut pair = open("reno", plain());
    pair.supply(Write::Bytes(10 * FULL));
    for _ in 0..29 {
        pair.supply(Write::Bytes(100));
    }
    assert_eq!(pair.lens.len(), 10);
    pair.supply(Write::Close);
    let pair = pair.drive(2);
    assert_eq!(pair.lens[10..], [1448, 1448, 4]);
}

#[test]
fn a_small_write_is_corked_while_as_much_waits_in_the_host() {
    let setup = Setup {
        config: HostConfig { qdisc: HostQdisc::Fq, ..plain() },
        segments: 0,
        ..Setup::default()
    };
    let mut pair = Pair::new(setup, losing(&[]));
    // 100 bytes each 10 ms, once ten segments have left unpaced.
    pair.sender.set_max_pacing_rate(10_000);
    pair = pair.drive_for(ms(150));
    for _ in 0..12 {
        pair.supply(Write::Bytes(100));
        pair = pair.drive_for(ms(20));
    }
    let handed_down = |p: &Pair<'_>| p.sender.window().1;
    for (expected, departed) in [(13, 13), (14, 13), (14, 13)] {
        pair.supply(Write::Bytes(100));
        assert_eq!((handed_down(&pair), pair.lens.len()), (expected, departed));
    }
    // A buffer that is larger than what waits does not.
    pair.supply(Write::Bytes(100));
    assert_eq!(handed_down(&pair), 15);
    pair.supply(Write::Bytes(50));
    assert_eq!(handed_down(&pair), 15);
    pair = pair.drive_for(ms(100));
    assert_eq!(pair.lens[12..], [100, 100, 200, 50]);
}

#[test]
fn a_tail_loss_probe_repairs_the_end_of_a_message_that_nothing_follows() {
    let setup = Setup { segments: 0, ..Setup::default() };
    let mut pair = Pair::new(setup, losing(&[4])).drive_for(ms(150));
    pair.supply(Write::Bytes(4 * FULL + 10));
    pair = pair.drive_for(ms(1_000));
    let stats = *pair.sender.stats();
    assert_eq!((stats.tlps, stats.rtos), (1, 0));
    assert_eq!(pair.receiver.stats().delivered_bytes, 4 * FULL + 10);
    // Nothing is outstanding: no timer runs.
    assert_eq!(pair.sender.next_deadline(), Time::NEVER);
}

/// Completion times of `count` answers of this many segments, each after this think time, us.
fn completion_times(segments: u64, think: Span, count: u32) -> Vec<u64> {
    let think = Length::Fixed(think);
    let workload = Workload::RequestResponse { response: segments * FULL - 400, think, count };
    let setup = Setup { segments: 0, app: Some(workload), ..Setup::default() };
    let pair = Pair::new(setup, losing(&[])).drive(60);
    let done = pair.app().messages().iter().map(Message::completion_time);
    done.map(|span| span.map_or(0, Span::as_us)).collect()
}

#[test]
fn an_answer_within_the_window_takes_a_round_trip_and_its_serialization() {
    // 50 ms for the request, three times 121 us, 50 ms for the last packet.
    assert_eq!(completion_times(3, ms(50), 4), [100_363; 4]);
}

#[test]
fn an_answer_of_twice_the_initial_window_takes_a_round_trip_more_once() {
    // The ACK of the first segment is back 150.121 ms after the request, and each ACK releases two
    // segments, so that the link is busy with the ten others from then on: 151.331 ms, and 50 ms for the
    // last packet. The next answers find a window of 20 and more.
    let times = completion_times(20, ms(50), 3);
    assert_eq!(times, [201_331, 102_420, 102_420]);
}

#[test]
fn a_think_time_beyond_the_rto_makes_each_answer_start_slowly() {
    let times = completion_times(20, ms(5_000), 3);
    assert_eq!(times, [201_331; 3]);
}

/// Three answers of three segments, each 10 ms after the one before; what becomes of each packet of the receiver's.
fn three_answers<'a>(judge: impl FnMut(&mut Ack) -> Verdict + 'a) -> Pair<'a> {
    let think = Length::Fixed(ms(10));
    let workload = Workload::RequestResponse { response: 3 * FULL - 400, think, count: 3 };
    let setup = Setup { segments: 0, app: Some(workload), ..Setup::default() };
    Pair::new(setup, losing(&[])).with_acks(judge).drive(60)
}

#[test]
fn acks_of_one_who_asks_again_wait_for_the_next_request() {
    let mut kinds = Vec::new();
    three_answers(|ack| {
        kinds.push((ack.is_request(), ack.tcp().ack));
        Verdict::Deliver
    });
    let (ask, tell) = (true, false);
    // The first answer is acknowledged one by one, as on every connection. The others are answers to one who answers, too:
    // two segments are acknowledged, and the third with the next request.
    let expected = [
        (tell, 0),
        (ask, 0),
        (tell, 1),
        (tell, 2),
        (tell, 3),
        (ask, 3),
        (tell, 5),
        (ask, 6),
        (tell, 8),
        (tell, 9),
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn a_lost_request_is_sent_again_after_the_timeout_of_its_own_host() {
    let mut left = 2;
    let pair = three_answers(move |ack| {
        if ack.is_request() && ack.tcp().ack == 3 && left > 0 {
            left -= 1;
            return Verdict::Drop;
        }
        Verdict::Deliver
    });
    let took: Vec<u64> = pair
        .app()
        .messages()
        .iter()
        .map(|m| m.completion_time().map_or(0, |span| span.as_us() / 1000))
        .collect();
    // The RTT is 100 ms, the timeout 300; the probe comes after it, the timeout as long after that, each up to 8 ms later.
    assert_eq!((took[0], took[2]), (100, 100));
    assert!((700..=718).contains(&took[1]), "{took:?}");
}

#[test]
fn a_request_that_comes_twice_is_answered_once() {
    let pair = three_answers(|ack| match ack.is_request() {
        true => Verdict::Twice(ms(30)),
        false => Verdict::Deliver,
    });
    assert_eq!(pair.app().messages().len(), 3);
    assert!(pair.app().messages().iter().all(|m| m.completion_time().is_some_and(|t| t < ms(101))));
}

#[test]
fn an_on_off_source_sends_during_its_on_times_only() {
    let length = |span| Length::Fixed(ms(span));
    let workload = Workload::OnOff { on: length(400), off: length(600), burst: Burst::Greedy };
    let setup = Setup { segments: 0, app: Some(workload), ..Setup::default() };
    let pair = Pair::new(setup, losing(&[])).drive_for(ms(5_050));
    let mut by_second = [0; 5];
    for sent in &pair.sent {
        let us = sent.at.as_us() - 100_000;
        assert!(us % 1_000_000 < 400_000, "sent at {} us", sent.at.as_us());
        by_second[(us / 1_000_000) as usize] += 1;
    }
    assert!(by_second.iter().all(|&n| n > 100), "{by_second:?}");
}

#[test]
fn a_transfer_written_at_the_start_is_the_same_as_one_that_was_there() {
    for cca in ["reno", "cubic"] {
        let sized = Setup { cca, segments: 500, ..Setup::default() };
        let app = Some(Workload::Sized { bytes: 500 * FULL });
        let written = Setup { cca, segments: 0, app, ..Setup::default() };
        let lost = &[30, 31, 32, 200];
        let (a, b) =
            (Pair::new(sized, losing(lost)).drive(60), Pair::new(written, losing(lost)).drive(60));
        assert_eq!(a.acks, b.acks, "{cca}");
        assert_eq!(a.sender.stats().segs_sent, b.sender.stats().segs_sent);
        assert_eq!(b.app().messages().len(), 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is written, whenever, and whatever is lost: each byte arrives, and the last one completes
    /// the transfer. `Pair` checks that no segment changes its length.
    #[test]
    fn every_byte_of_any_sequence_of_writes_arrives(
        seed in any::<u64>(),
        writes in prop::collection::vec((1..6_000u64, 0..60_000u64), 1..60),
        switches in any::<[bool; 4]>(), loss in 0..20u64, write in prop::sample::select(vec![0, 700, 16_384]),
        cca in prop::sample::select(Module::all().iter().map(Module::name).collect::<Vec<_>>()),
    ) {
        let [fq, tso, gro, nodelay] = switches;
        let qdisc = if fq { HostQdisc::Fq } else { HostQdisc::Pfifo };
        let config = HostConfig { qdisc, tso, gro, nodelay, write, ..plain() };
        let mut rng = Rng::stream(seed, "fate");
        let verdict = move |_: Sent| if rng.below(100) < loss { Verdict::Drop } else { Verdict::Deliver };
        let setup = Setup { cca, config, segments: 0, one_way: ms(5), ..Setup::default() };
        let mut pair = Pair::new(setup, verdict).drive_for(ms(1));
        for &(bytes, wait_us) in &writes {
            pair.supply(Write::Bytes(bytes));
            pair = pair.drive_for(Span::from_us(wait_us));
        }
        pair.supply(Write::Close);
        let pair = pair.drive(2_000);
        let written: u64 = writes.iter().map(|w| w.0).sum();
        prop_assert_eq!(pair.receiver.stats().delivered_bytes, written);
        prop_assert_eq!(pair.lens.iter().map(|&len| u64::from(len)).sum::<u64>(), written);
        // Sequence numbers of the controller are bytes.
        prop_assert_eq!(u64::from(pair.sender.sk.snd_una), written + 1);
        prop_assert_eq!(pair.sender.sk.write_seq, pair.sender.sk.snd_una);
    }
}
