//! PROBE_RTT.

use crate::path::{samples, stays, stays_in, Path};

/// Another flow keeps a queue, so that no sample renews the minimum RTT.
const QUEUED: Path = Path { mbps: 40, rtt_ms: 40, buffer: 300 };

#[test]
fn probe_rtt_comes_every_five_seconds_or_ten() {
    // bbr: when min_rtt is 10 s old (Linux bbr_min_rtt_win_sec); bbr2, bbr3: 5 s (bbr_probe_rtt_win_ms).
    for (cca, every) in
        [("bbr", 10_000.0), ("bbr2", 5000.0), ("bbr2plus", 5000.0), ("bbr3", 5000.0)]
    {
        let ran = QUEUED.together(&[cca, "cubic"], 137, 60, 1);
        let entries: Vec<f64> = stays_in(&ran, 0, "PROBE_RTT").iter().map(|s| s.from).collect();
        let gaps: Vec<f64> = entries.windows(2).map(|w| w[1] - w[0]).collect();
        assert!(
            entries.len() as f64 >= 60_000.0 / every / 2.0 - 1.0,
            "{cca}: {} times",
            entries.len()
        );
        // Never sooner: the sample of the last PROBE_RTT came at its end, up to a second after entry.
        assert!(gaps.iter().all(|&g| g >= every), "{cca}: {gaps:?} ms");
        let soonest = gaps.iter().copied().fold(f64::MAX, f64::min);
        assert!(soonest < every + 1000.0, "{cca}: {gaps:?} ms");
    }
}

#[test]
fn probe_rtt_holds_its_window_for_200_ms_and_a_round_then_restores() {
    // bbr: 4 segments; bbr2 and later half a BDP (bbr_cwnd_min_target, bbr_probe_rtt_cwnd_gain). 200 ms from
    // when that little is in flight, and one round (Linux bbr_update_min_rtt); draining takes a queued RTT.
    for (cca, share) in [("bbr", 0.0), ("bbr2", 0.5), ("bbr2plus", 0.5), ("bbr3", 0.5)] {
        let ran = QUEUED.together(&[cca, "cubic"], 137, 40, 1);
        let visits = stays_in(&ran, 0, "PROBE_RTT");
        assert!(!visits.is_empty(), "{cca}");
        for visit in &visits {
            assert!((200.0..700.0).contains(&visit.ms()), "{cca}: {} ms", visit.ms());
            for row in samples(&ran, 0, visit.from, visit.to) {
                let bw = row.int("bw_bps") as f64 / 1448.0 / 8.0;
                let bdp = bw * row.int("cca_min_rtt_us") as f64 / 1e6;
                let most = (share * bdp + 2.0).max(4.0);
                let cwnd = row.int("cwnd") as f64;
                assert!(cwnd <= most && cwnd >= 4.0, "{cca}: window {cwnd}, BDP {bdp}");
            }
            let before = samples(&ran, 0, visit.from - 30.0, visit.from).pop().expect("a sample");
            let after = samples(&ran, 0, visit.to, visit.to + 30.0);
            let restored = after.iter().map(|r| r.int("cwnd")).max().expect("samples");
            // prior_cwnd, unless the model learnt in the meantime that less is right: min_rtt fell, and the window
            // is two BDP at least by the new one.
            let bdp = before.int("bw_bps") * after[0].int("cca_min_rtt_us") / 11_584_000_000;
            let least = (before.int("cwnd") * 4 / 10).min(2 * bdp);
            assert!(restored >= least, "{cca}: {restored} of {least}");
        }
    }
}

#[test]
fn probe_rtt_leaves_for_cruise() {
    // v2alpha: through DOWN, which ends at once since little is in flight.
    for cca in ["bbr2", "bbr3"] {
        let ran = QUEUED.together(&[cca, "cubic"], 137, 40, 1);
        let stays = stays(&ran, 0);
        let leaves = stays.windows(2).filter(|w| w[0].state == "PROBE_RTT");
        let next: Vec<&str> = leaves.map(|w| &*w[1].state).collect();
        assert!(next.len() >= 2, "{cca}");
        assert!(next.iter().all(|&state| state == "PROBE_BW_CRUISE"), "{cca}: {next:?}");
    }
}
