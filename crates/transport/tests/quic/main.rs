//! The simplified QUIC between two endpoints: one test a mechanism, by name.

mod acks;
mod allocation;
mod congestion;
#[path = "../counting/mod.rs"]
mod counting;
mod line;
mod loss;
mod pacing;
mod pair;
mod transfer;

use pair::{Fate, Sent};

/// Loses the packets with these numbers.
fn losing(lost: &'static [u32]) -> impl FnMut(Sent) -> Fate {
    move |sent| match lost.contains(&sent.number) {
        true => Fate::Drop,
        false => Fate::Deliver,
    }
}
