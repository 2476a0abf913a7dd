//! The simplified QUIC between two endpoints: one test a mechanism, by name.

mod acks;
mod allocation;
mod congestion;
#[path = "../counting/mod.rs"]
mod counting;
#[path = "../harness/mod.rs"]
mod harness;
mod line;
mod loss;
mod pacing;
mod pair;
mod transfer;
mod zhang;

use pair::{Sent, Verdict};

/// Loses the packets with these numbers.
fn losing(lost: &'static [u32]) -> impl FnMut(Sent) -> Verdict {
    move |sent| match lost.contains(&sent.number) {
        true => Verdict::Drop,
        false => Verdict::Deliver,
    }
}
