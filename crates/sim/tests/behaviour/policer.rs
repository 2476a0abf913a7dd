//! A policer: a deep token bucket and almost no queue.

use crate::path::{goodput, samples, Path};
use crate::plans::{greedy, MS};
use crate::run::run;

/// 10 Mbit/s with a bucket of 250 kB (0.2 s), 4 packets of queue, 40 ms: goodput and lost segments of 5 to 30 s.
fn policed(cca: &str, params: &[(&str, i64)]) -> (f64, i64) {
    let mut plan = Path { mbps: 10, rtt_ms: 40, buffer: 12 }.plan(30);
    plan.links[0].burst_bytes = 250_000;
    let mut flow = greedy(&plan, cca, 40 * MS);
    flow.params = params.iter().map(|&(k, v)| (k.to_owned(), v)).collect();
    plan.flows.push(flow);
    let ran = run(&plan);
    let rows = samples(&ran, 0, 5e3, 30e3);
    let lost = |k: usize| rows[k].int("lost_total");
    (goodput(&ran, 0, 5e3, 30e3), lost(rows.len() - 1) - lost(0))
}

#[test]
fn the_rate_of_a_policer_is_kept_with_less_loss_by_the_long_term_bandwidth() {
    // Linux bbr_lt_bw_sampling: two intervals of heavy loss (20 %) and equal rate are a policer's; for 48 rounds BBR then
    // paces at that rate instead of probing above it (draft appendix, "policer").
    let (rate, lost) = policed("bbr", &[]);
    let (_, without) = policed("bbr", &[("lt_bw", 0)]);
    let full = Path { mbps: 10, rtt_ms: 40, buffer: 12 }.capacity();
    assert!(rate > 0.9 * full, "{rate} Mbit/s");
    assert!(lost * 10 < without * 9, "{lost} lost, {without} without");
}

#[test]
fn a_policer_does_not_starve_any_of_the_family() {
    let full = Path { mbps: 10, rtt_ms: 40, buffer: 12 }.capacity();
    for cca in ["bbrplus", "bbr2", "bbr2plus", "bbr3"] {
        let (rate, _) = policed(cca, &[]);
        assert!(rate > 0.9 * full, "{cca}: {rate} Mbit/s");
    }
}
