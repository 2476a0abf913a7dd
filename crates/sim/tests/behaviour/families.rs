//! The families of google/bbr's `run_tests.sh`. Its script draws graphs and asserts nothing; where the bounds
//! here come from is said at each. `ecn_bulk` needs a queue that marks.

use crate::path::{goodput, Path};
use crate::plans::{greedy, MS};
use crate::run::run;
use sim::plan::Flow;

#[test]
fn coexist_with_cubic_over_all_buffers() {
    // "coexist": 50 Mbit/s, 30 ms, 0.1 to 16 BDP, CUBIC and another 2 s apart; 60 s of its 180, of which 10 to
    // 60 s count. BBRv2 aims to share with CUBIC (Cardwell, IETF 104), at least a fifth either way, as in the
    // rows against real Linux (docs/cca/bbr2.md); BBRv1 starves it in a shallow buffer (Kfoury 5.2).
    for cca in ["bbr", "bbr2", "bbr3"] {
        for buffer in [10, 100, 200, 400, 800, 1600] {
            let path = Path { mbps: 50, rtt_ms: 30, buffer };
            let ran = path.together(&["cubic", cca], 2000, 60, 1);
            let of = |i| goodput(&ran, i, 10_000.0, 60_000.0);
            let (cubic, other) = (of(0), of(1));
            assert!(cubic + other > 0.9 * path.capacity(), "{cca} {buffer}: link not used");
            let share = other / (cubic + other);
            let (least, most) = match (cca, buffer) {
                ("bbr", 10) => (0.85, 1.0),
                ("bbr", _) => (0.2, 0.95),
                _ => (0.2, 0.8),
            };
            assert!(share > least && share < most, "{cca}, {buffer} % BDP: share {share}");
        }
    }
}

#[test]
fn shallow_buffers_are_used_with_little_loss() {
    // "shallow": 0.02 BDP, 1 to 100 flows, 1 Gbit/s and 100 ms; here 100 Mbit/s and 100 ms with 1 and 10 flows
    // (17 segments of buffer instead of 165). BBRv2 and v3 aim at a loss of at most 2 % (loss_thresh), which each
    // flow learns for itself; BBRv1 has no such aim and loses several times as much (Kfoury 5.3).
    let path = Path { mbps: 100, rtt_ms: 100, buffer: 2 };
    for flows in [1, 10] {
        let drop_rate = |cca| {
            let mut plan = path.plan(20);
            for i in 0..flows {
                let flow = greedy(&plan, cca, path.rtt_ms * MS);
                plan.flows.push(Flow { start_ns: i * 37 * MS, ..flow });
            }
            let ran = run(&plan);
            let total: f64 = (0..flows).map(|i| goodput(&ran, i as i64, 5e3, 20e3)).sum();
            assert!(total > 0.8 * path.capacity(), "{cca}, {flows} flows: {total} Mbit/s");
            ran.summary.link.drop_rate
        };
        let (bbr, bbr2, bbr3) = (drop_rate("bbr"), drop_rate("bbr2"), drop_rate("bbr3"));
        assert!(bbr2 < 0.025 && bbr3 < 0.025, "{flows} flows: {bbr2} and {bbr3} dropped");
        assert!(bbr > 2.5 * bbr2.max(bbr3), "{flows} flows: {bbr}, {bbr2}, {bbr3} dropped");
    }
}

#[test]
fn bufferbloat_does_not_grow_with_the_buffer() {
    // "bufferbloat": 2 flows, 50 Mbit/s, 30 ms, 1 to 100 BDP; 30 s of its 120. A window of 2 BDP leaves one BDP of
    // queue; the minimum RTTs of flows that start into each other's queue are up to a BDP too long: 2 x 30 ms. CUBIC
    // fills any buffer: at 10 BDP its queue is several times that.
    for cca in ["bbr", "bbr2", "bbr2plus", "bbr3", "cubic"] {
        for buffer in [100, 1000, 5000, 10_000] {
            let path = Path { mbps: 50, rtt_ms: 30, buffer };
            let link = path.together(&[cca, cca], 2000, 30, 1).summary.link;
            if cca == "cubic" {
                assert!(buffer < 1000 || link.queue_mean_ms > 200.0, "{}", link.queue_mean_ms);
            } else {
                assert!(link.queue_p95_ms < 60.0, "{cca} {buffer}: {} ms", link.queue_p95_ms);
                assert!(link.utilization > 0.95, "{cca} {buffer}: {}", link.utilization);
            }
        }
    }
}
