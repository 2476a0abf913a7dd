//! PROBE_BW: order and lengths of its phases, and the bounds in them.

use crate::path::{events, samples, stays, stays_in, Path, Stay};

const DEEP: Path = Path { mbps: 40, rtt_ms: 40, buffer: 200 };
const SHALLOW: Path = Path { mbps: 40, rtt_ms: 40, buffer: 15 };

/// What may follow what, as in the diagram of `cca/bbr2/probe_bw.h` (draft-ietf-ccwg-bbr 5.3.3); an exit of
/// PROBE_RTT passes through DOWN at once, and one of DRAIN may do so between two samples.
fn may_follow(state: &str) -> &'static [&'static str] {
    match state {
        "STARTUP" => &["DRAIN"],
        "DRAIN" => &["PROBE_BW_DOWN", "PROBE_BW_CRUISE"],
        "PROBE_BW_DOWN" => &["PROBE_BW_CRUISE", "PROBE_BW_REFILL", "PROBE_RTT"],
        "PROBE_BW_CRUISE" => &["PROBE_BW_REFILL", "PROBE_RTT"],
        "PROBE_BW_REFILL" => &["PROBE_BW_UP", "PROBE_RTT"],
        "PROBE_BW_UP" => &["PROBE_BW_DOWN", "PROBE_RTT"],
        "PROBE_RTT" => &["PROBE_BW_CRUISE"],
        other => panic!("no state {other}"),
    }
}

#[test]
fn phases_follow_each_other_in_order() {
    for cca in ["bbr2", "bbr3"] {
        for path in [DEEP, SHALLOW] {
            let stays = stays(&path.alone(cca, 40, |_| ()), 0);
            for pair in stays.windows(2) {
                let next = &*pair[1].state;
                assert!(may_follow(&pair[0].state).contains(&next), "{cca}: {pair:?}");
            }
            // One cycle lasts at most 3 s and a few rounds.
            for phase in ["DOWN", "CRUISE", "REFILL", "UP"] {
                let name = format!("PROBE_BW_{phase}");
                let times = stays.iter().filter(|s| s.state == name).count();
                assert!(times >= 10, "{cca}: {times} times in {phase} in 40 s");
            }
        }
    }
}

#[test]
fn the_wait_between_probes_is_two_to_three_seconds_or_sixty_three_rounds() {
    // 2 s + U(0, 1) s since DOWN began, or 63 rounds less 0 or 1 (v2alpha bbr_bw_probe_base_us, rand_us,
    // max_rounds); BDP 132 segments do not shorten it. A round is an RTT and what is queued.
    for cca in ["bbr2", "bbr3"] {
        let ran = DEEP.alone(cca, 60, |f| {
            f.params.insert("probe_rtt_mode_ms".into(), 0); // no PROBE_RTT in between
        });
        let stays = stays(&ran, 0);
        let mut waits = Vec::new();
        for (i, down) in stays.iter().enumerate().filter(|(_, s)| s.state == "PROBE_BW_DOWN") {
            let upto = stays[i..].iter().take_while(|s| s.state != "PROBE_BW_REFILL");
            let wait: Vec<_> = upto.collect();
            if i + wait.len() < stays.len() && wait.iter().all(|s| s.state != "PROBE_RTT") {
                waits.push(wait.last().map_or(0.0, |s| s.to) - down.from);
            }
        }
        assert!(waits.len() >= 10, "{cca}: {} waits", waits.len());
        assert!(waits.iter().all(|w| (2000.0..3050.0).contains(w)), "{cca}: {waits:?} ms");
        // They are drawn, so they differ.
        let (shortest, most) =
            waits.iter().fold((f64::MAX, 0.0_f64), |(a, b), &w| (a.min(w), b.max(w)));
        assert!(most - shortest > 200.0, "{cca}: {shortest} to {most} ms");
    }
}

#[test]
fn a_small_bdp_is_probed_as_often_as_reno_would() {
    // 4 Mbit/s, 20 ms: BDP 7 segments, so a probe after about 7 to 9 rounds of 20 to 30 ms, not after 2 s
    // (v2alpha bbr2_is_reno_coexistence_probe_time).
    let path = Path { mbps: 4, rtt_ms: 20, buffer: 400 };
    for cca in ["bbr2", "bbr3"] {
        let probes = stays_in(&path.alone(cca, 20, |_| ()), 0, "PROBE_BW_UP");
        let gaps: Vec<f64> = probes.windows(2).map(|w| w[1].from - w[0].to).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!(mean < 700.0, "{cca}: {mean} ms between probes");
    }
}

#[test]
fn refill_lasts_one_round() {
    for cca in ["bbr2", "bbr2plus", "bbr3"] {
        let ran = DEEP.alone(cca, 40, |_| ());
        let stays = stays(&ran, 0);
        let whole = |w: &&[Stay]| w[0].state == "PROBE_BW_REFILL" && w[1].state != "PROBE_RTT";
        let refills: Vec<_> = stays.windows(2).filter(whole).map(|w| w[0].clone()).collect();
        assert!(refills.len() >= 5, "{cca}");
        // A round: what is sent from its start on is acknowledged, 40 ms and a small queue later.
        for stay in refills {
            assert!((39.0..60.0).contains(&stay.ms()), "{cca}: {} ms", stay.ms());
        }
    }
}

#[test]
fn up_ends_with_a_quarter_bdp_queued_or_on_a_plateau() {
    // bbr2: one min_rtt at least, until 1.25 BDP are in flight (facts 2.1): with a gain of 1.25 from a full
    // pipe this takes about one to three rounds. bbr3: three rounds without growth (v3 full_bw_now).
    for (cca, shortest, most) in [("bbr2", 39.0, 160.0), ("bbr3", 100.0, 300.0)] {
        let ran = DEEP.alone(cca, 40, |_| ());
        // PROBE_RTT comes when it is due, in the middle of a probe too.
        let stays = stays(&ran, 0);
        let whole = |w: &&[Stay]| w[0].state == "PROBE_BW_UP" && w[1].state != "PROBE_RTT";
        let probes: Vec<_> = stays.windows(2).filter(whole).map(|w| w[0].clone()).collect();
        assert!(probes.len() >= 10, "{cca}");
        for stay in probes {
            assert!((shortest..most).contains(&stay.ms()), "{cca}: UP lasts {} ms", stay.ms());
            let rows = samples(&ran, 0, stay.to - 20.0, stay.to + 10.0);
            let most = rows.iter().map(|r| r.int("in_flight")).max().expect("samples") as f64;
            assert!(most >= 1.2 * DEEP.bdp(), "{cca}: {most} in flight at the end of UP");
            assert_eq!(events(&ran, 0, "loss_detected", stay.from, stay.to), 0, "{cca}: 2 BDP");
        }
    }
}

#[test]
fn down_ends_when_inflight_is_at_the_bdp_and_leaves_headroom() {
    for cca in ["bbr2", "bbr3"] {
        for path in [DEEP, SHALLOW] {
            let ran = path.alone(cca, 40, |_| ());
            let cruises = stays_in(&ran, 0, "PROBE_BW_CRUISE");
            let mut seen = 0;
            for stay in &cruises {
                let Some(row) = samples(&ran, 0, stay.from, stay.from + 10.0).pop() else {
                    continue;
                };
                let bound = row.get("inflight_hi").map_or(f64::MAX, |hi| 0.852 * hi as f64);
                // Quantisation: three bursts of 2 segments at this rate, and what was sent since.
                let most = bound.min(path.bdp()) + 12.0;
                let in_flight = row.int("in_flight") as f64;
                assert!(in_flight <= most, "{cca}: {in_flight} of at most {most} in flight");
                seen += 1;
            }
            assert!(seen >= 10, "{cca}: {seen} CRUISEs");
        }
    }
}

#[test]
fn loss_ends_up_and_bounds_inflight() {
    // 0.15 BDP of buffer: UP overflows it. Then inflight_hi is what was in flight, at least 0.7 of the
    // target and at most BDP and buffer, with the bursts of the last round (draft 5.3.3.6, facts 2.1).
    for cca in ["bbr2", "bbr3"] {
        let ran = SHALLOW.alone(cca, 40, |_| ());
        let probes = stays_in(&ran, 0, "PROBE_BW_UP");
        let lossy: Vec<_> = probes
            .iter()
            .filter(|s| events(&ran, 0, "loss_detected", s.from, s.to + 40.0) > 0)
            .collect();
        assert!(lossy.len() >= 3, "{cca}: {} of {} probes meet loss", lossy.len(), probes.len());
        let bounds: Vec<f64> = samples(&ran, 0, lossy[0].to + 40.0, 40_000.0)
            .iter()
            .map(|row| row.get("inflight_hi").expect("a bound since the first loss") as f64)
            .collect();
        let (shortest, most) =
            bounds.iter().fold((f64::MAX, 0.0_f64), |(a, b), &h| (a.min(h), b.max(h)));
        assert!(shortest >= 0.69 * SHALLOW.bdp(), "{cca}: inflight_hi {shortest}");
        assert!(most <= 1.45 * SHALLOW.bdp(), "{cca}: inflight_hi {most}");
        // The price of probing stays small: Google's aim is a loss rate below 2 % (alpha).
        assert!(ran.summary.flows[0].retrans_rate < Some(0.02), "{cca}");
        assert!(ran.summary.flows[0].goodput_mbps > 0.8 * SHALLOW.capacity(), "{cca}");
    }
}

#[test]
fn the_window_respects_inflight_hi_and_leaves_headroom_in_cruise() {
    // v2alpha bbr2_bound_cwnd_for_inflight_model: inflight_hi in DOWN, REFILL and UP, 0.85 of it in CRUISE.
    for cca in ["bbr2", "bbr3"] {
        let ran = SHALLOW.alone(cca, 40, |_| ());
        let rows = samples(&ran, 0, 2000.0, 40_000.0);
        let (mut cruising, mut probing) = (0, 0);
        for pair in rows.windows(2) {
            let (before, row) = (&pair[0], &pair[1]);
            let same = before.text("cca_state") == row.text("cca_state")
                && before.get("inflight_hi") == row.get("inflight_hi");
            let Some(hi) = row.get("inflight_hi").filter(|_| same) else { continue };
            let cwnd = row.int("cwnd") as f64;
            match row.text("cca_state") {
                "PROBE_BW_CRUISE" => {
                    assert!(cwnd <= 0.852 * hi as f64 + 1.0, "{cca}: {cwnd} of {hi}");
                    cruising += 1;
                }
                "PROBE_BW_UP" | "PROBE_BW_REFILL" | "PROBE_BW_DOWN" => {
                    assert!(cwnd <= hi as f64, "{cca}: {cwnd} of {hi}");
                    probing += 1;
                }
                _ => (),
            }
        }
        assert!(cruising > 500 && probing > 20, "{cca}: {cruising} and {probing} samples");
    }
}

#[test]
fn bbr2plus_tries_before_it_probes() {
    // ProbeTry (Yang et al. 4.1, Fig. 6; tcp_bbr2plus.c): REFILL, PRE_UP, GUARD, and UP or DOWN_SLIGHTLY;
    // after UP POST_UP. On an empty path alone the RTT says that there is nothing more: UP is rare.
    let ran = DEEP.alone("bbr2plus", 40, |_| ());
    let stays = stays(&ran, 0);
    let count = |phase: &str| stays.iter().filter(|s| s.state.ends_with(phase)).count();
    for pair in stays.windows(2) {
        let next = &*pair[1].state;
        let allowed: &[&str] = match &*pair[0].state {
            "PROBE_BW_REFILL" => &["PROBE_BW_PRE_UP", "PROBE_RTT"],
            "PROBE_BW_PRE_UP" => &["PROBE_BW_GUARD", "PROBE_BW_DOWN", "PROBE_RTT"],
            "PROBE_BW_GUARD" => {
                &["PROBE_BW_UP", "PROBE_BW_DOWN_SLIGHTLY", "PROBE_BW_DOWN", "PROBE_RTT"]
            }
            "PROBE_BW_UP" => &["PROBE_BW_POST_UP", "PROBE_BW_DOWN", "PROBE_RTT"],
            "PROBE_BW_POST_UP" => &["PROBE_BW_UP", "PROBE_BW_DOWN", "PROBE_RTT"],
            _ => continue,
        };
        assert!(allowed.contains(&next), "{pair:?}");
    }
    // A try each 8 to 11 rounds of CRUISE and 4 of trying: about 0.6 s. BBRv2 makes 15 in 40 s.
    assert!(count("GUARD") >= 40, "{} tries in 40 s", count("GUARD"));
}
