//! Two endpoints and a pipe: one test a mechanism, by name.

mod app;
mod buffers;
mod ecn;
#[path = "../harness/mod.rs"]
mod harness;
mod misconduct;
mod pair;
mod receiver;
mod recovery;
mod transfer;
mod undo;

use pair::{Sent, Verdict};

/// Loses the originals of these segments.
fn losing(lost: &'static [u32]) -> impl FnMut(Sent) -> Verdict {
    move |sent| match sent.copy == 0 && lost.contains(&sent.seq) {
        true => Verdict::Drop,
        false => Verdict::Deliver,
    }
}
