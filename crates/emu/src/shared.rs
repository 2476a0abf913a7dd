//! What the threads of a run tell each other while it goes on.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::Arc;

/// What the loop shares with other threads.
#[derive(Debug)]
pub struct Shared {
    /// Ends the loop.
    pub stop: AtomicBool,
    /// Frames with data that reached a receiver.
    pub delivered: AtomicU64,
    pub flows: Vec<SharedFlow>,
}

/// The same of one flow.
#[derive(Debug, Default)]
pub struct SharedFlow {
    /// Its data goes nowhere from now on.
    pub is_closed: AtomicBool,
    /// Payload that its receiver has in order, bytes.
    pub delivered_bytes: AtomicU64,
    /// A finite transfer is there.
    pub is_completed: AtomicBool,
}

impl Shared {
    pub fn new(flows: usize) -> Arc<Shared> {
        Arc::new(Shared {
            stop: AtomicBool::new(false),
            delivered: AtomicU64::new(0),
            flows: (0..flows).map(|_| SharedFlow::default()).collect(),
        })
    }
}
