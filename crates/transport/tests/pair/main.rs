//! Two endpoints and a pipe: one test a mechanism, by name.

mod app;
mod buffers;
mod ecn;
mod pair;
mod receiver;
mod recovery;
mod transfer;
mod undo;

use pair::{Fate, Sent};

/// Loses the originals of these segments.
fn losing(lost: &'static [u32]) -> impl FnMut(Sent) -> Fate {
    move |sent| match sent.copy == 0 && lost.contains(&sent.seq) {
        true => Fate::Drop,
        false => Fate::Deliver,
    }
}
