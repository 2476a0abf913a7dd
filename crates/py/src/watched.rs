//! The rows of a run for a Python function, while the run goes on: as JSON, a list a row.

use pyo3::prelude::*;
use record::watch::Sample;
use record::{QueueRow, Watch};
use serde_json::{json, Value};

/// A function that gets rows, and where the run leaves them; nothing where there is no function.
pub struct Watched(Option<(Py<PyAny>, Watch)>);

impl Watched {
    pub fn new(call: Option<Py<PyAny>>) -> Watched {
        Watched(call.map(|call| (call, Watch::default())))
    }

    /// What the run is to fill.
    pub fn rows(&self) -> Option<Watch> {
        self.0.as_ref().map(|(_, watch)| watch.clone())
    }

    /// Hands over what there is since the last call.
    pub fn tell(&self, py: Python<'_>) -> PyResult<()> {
        let Some((call, watch)) = &self.0 else { return Ok(()) };
        let seen = watch.take();
        if seen.samples.is_empty() && seen.queue.is_empty() {
            return Ok(());
        }
        let samples: Vec<Value> = seen.samples.iter().map(sample).collect();
        let queue: Vec<Value> = seen.queue.iter().map(queue).collect();
        call.call1(py, (json!({"samples": samples, "queue": queue}).to_string(),)).map(|_| ())
    }
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

/// Calls the progress function and lets signals in.
pub fn tell(py: Python<'_>, progress: Option<&Py<PyAny>>, at: u64, packets: u64) -> PyResult<()> {
    if let Some(progress) = progress {
        progress.call1(py, (at, packets))?;
    }
    py.check_signals()
}
