//! The receiving end of a flow, in a thread of its own.

use super::socket::Socket;
use crate::clock::{set_realtime_priority, Clock, MonotonicClock};
use crate::flows::RunState;
use quinn_ends::{Outgoing, Receiver};
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use units::Time;

/// What it has received and sent.
#[derive(Default)]
pub struct Received {
    /// When all of a finite transfer had arrived.
    pub completed: Option<Time>,
    /// Stream data that the application has got.
    pub delivered_bytes: u64,
    /// Datagrams that it sent.
    pub acks_sent: u64,
}

/// Receives flow `i` and answers until the run stops.
pub fn run(
    mut receiver: Receiver,
    mut socket: Socket,
    clock: MonotonicClock,
    run: &RunState,
    i: usize,
) -> io::Result<Received> {
    set_realtime_priority();
    let (mut completed, its) = (None, &run.flows[i]);
    while !run.stop.load(Relaxed) {
        let now = clock.now();
        receiver.on_timer(now);
        while socket.has_room()? {
            let Some(Outgoing { bytes, ecn }) = receiver.depart(now) else { break };
            socket.send(bytes, ecn)?;
        }
        socket.wait(receiver.deadline().since(clock.now()));
        socket.receive(|bytes, ecn| {
            receiver.on_datagram(clock.now(), bytes, bytes.len() as u16, ecn);
        })?;
        its.delivered_bytes.store(receiver.delivered_bytes(), Relaxed);
        if receiver.is_complete() && completed.is_none() {
            completed = Some(clock.now());
            its.is_completed.store(true, Relaxed);
        }
    }
    let (delivered_bytes, acks_sent) = (receiver.delivered_bytes(), receiver.acks_sent());
    Ok(Received { completed, delivered_bytes, acks_sent })
}
