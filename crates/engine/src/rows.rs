//! The rows of a run that goes on, as JSON, a list a row.

use record::watch::Sample;
use record::{QueueRow, Watch};
use serde_json::{json, Value};

/// What there is since the last call; nothing where there is nothing.
#[must_use]
pub fn rows(watch: &Watch) -> Option<String> {
    let seen = watch.take();
    if seen.samples.is_empty() && seen.queue.is_empty() {
        return None;
    }
    let samples: Vec<Value> = seen.samples.iter().map(sample).collect();
    let queue: Vec<Value> = seen.queue.iter().map(queue).collect();
    Some(json!({"samples": samples, "queue": queue}).to_string())
}

fn sample(Sample { row, bytes_sent }: &Sample) -> Value {
    json!([
        row.t_us,
        row.flow,
        row.goodput_bytes,
        bytes_sent,
        row.cwnd,
        row.in_flight,
        row.rtt_us,
        row.cca_state,
        row.srtt_us
    ])
}

fn queue(row: &QueueRow) -> Value {
    json!([row.t_us, row.link, row.sojourn_us, row.dropped_packets, row.marked_packets])
}
