//! What somebody who watches a run is told at every sample time, while the run goes on. It costs nothing where nobody
//! does: the tables' own rows are kept a second time, until they are taken.

use crate::{QueueRow, SampleRow};
use std::sync::{Arc, Mutex, PoisonError};

/// Rows of the tables `samples` and `queue` since they were last taken.
#[derive(Debug, Default)]
pub struct Seen {
    pub samples: Vec<Sample>,
    pub queue: Vec<QueueRow>,
}

/// A row of `samples`, and the payload that its flow had sent until then, retransmissions included.
#[derive(Clone, Debug)]
pub struct Sample {
    pub row: SampleRow,
    pub bytes_sent: u64,
}

/// Where a run leaves rows, and its caller takes them: from its progress function, and after the run.
#[derive(Clone, Debug, Default)]
pub struct Watch(Arc<Mutex<Seen>>);

impl Watch {
    /// What was seen since the last call.
    pub fn take(&self) -> Seen {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A row of `samples`, and the payload that its flow has sent.
    pub fn sample(&self, row: &SampleRow, bytes_sent: u64) {
        let seen = Sample { row: row.clone(), bytes_sent };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).samples.push(seen);
    }

    /// A row of `queue`.
    pub fn queue(&self, row: &QueueRow) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).queue.push(row.clone());
    }
}
