//! What controllers do over a grid, as tables that a reviewer reads in the diff of a change.
//!
//! One file per controller. `UPDATE_TABLES=1 cargo test -p dumbbell-sim --test engine snapshots` writes them again; say in the
//! commit why they changed.

use crate::plans::{greedy, lose, plain, MS, S};
use crate::run::run;
use sim::plan::Flow;
use std::fmt::Write;
use std::path::Path;

/// What differs from the table that is checked in.
fn compare(cca: &str, table: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine/tables");
    let path = path.join(cca).with_extension("txt");
    if std::env::var_os("UPDATE_TABLES").is_some() {
        std::fs::write(&path, table).expect("the table can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let mut diff = String::new();
    for (was, is) in lines_of_both(&kept, table).filter(|(was, is)| was != is) {
        let _ = writeln!(diff, "{cca}\n- {was}\n+ {is}");
    }
    diff
}

fn lines_of_both<'a>(a: &'a str, b: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let n = a.lines().count().max(b.lines().count());
    (0..n).map(|i| (a.lines().nth(i).unwrap_or(""), b.lines().nth(i).unwrap_or("")))
}

#[test]
fn every_controller_over_its_grid() {
    let mut changed = String::new();
    for module in cca::Module::all() {
        let mut table = one_flow_over_buffer_and_loss(module.name());
        table.push('\n');
        table.push_str(&many_flows_share_a_link(module.name()));
        changed.push_str(&compare(module.name(), &table));
    }
    assert!(changed.is_empty(), "tables changed (UPDATE_TABLES=1 accepts that):\n{changed}");
}

fn one_flow_over_buffer_and_loss(cca: &str) -> String {
    let mut table = String::from(
        "One flow, 20 Mbit/s, 40 ms, 10 s.\n\
         buffer      loss   goodput Mbit/s   retrans %   srtt ms   queue ms\n",
    );
    let bdp = 20_000_000 / 8 * 40 / 1000;
    for (buffer, bytes) in [("0.1bdp", bdp / 10), ("1bdp", bdp), ("4bdp", 4 * bdp)] {
        for (loss, loss_ppb) in [("0", 0), ("0.01%", 100_000), ("1%", 10_000_000)] {
            let mut plan = plain(20_000_000, bytes, 10 * S);
            let mut flow = greedy(&plan, cca, 40 * MS);
            lose(&mut flow, loss_ppb);
            plan.flows.push(flow);
            let summary = run(&plan).summary;
            let flow = &summary.flows[0];
            let _ = writeln!(
                table,
                "{buffer:<8} {loss:>7} {:>16.2} {:>11.3} {:>9.2} {:>10.2}",
                flow.goodput_mbps,
                flow.retrans_rate.unwrap_or(0.0) * 100.0,
                flow.srtt_mean_ms.unwrap_or(0.0),
                summary.link.queue_mean_ms,
            );
        }
    }
    table
}

fn many_flows_share_a_link(cca: &str) -> String {
    let mut table = String::from(
        "Flows started 11 ms apart, 50 Mbit/s, 20 ms, 1 BDP; goodput over all of 6 s.\n\
         flows   aggregate Mbit/s       min       max    Jain    drops   queue ms\n",
    );
    for n in [1, 2, 4, 8, 16, 32, 64] {
        let mut plan = plain(50_000_000, 125_000, 6 * S);
        for i in 0..n {
            let flow = greedy(&plan, cca, 20 * MS);
            plan.flows.push(Flow { start_ns: i * 11 * MS, ..flow });
        }
        let ran = run(&plan);
        let summary = &ran.summary;
        let rows = ran.table("flows");
        let goodputs = || rows.iter().map(|row| row.int("goodput_bytes") as f64 * 8e-6 / 6.0);
        let _ = writeln!(
            table,
            "{n:>5} {:>18.2} {:>9.3} {:>9.3} {:>7.4} {:>8} {:>10.2}",
            goodputs().sum::<f64>(),
            goodputs().fold(f64::INFINITY, f64::min),
            goodputs().fold(0.0, f64::max),
            summary.jain.expect("all ran nearly all the time"),
            summary.link.drops,
            summary.link.queue_mean_ms,
        );
    }
    table
}
