//! Probes: for each series a UDP socket that sends a request at each time, and one at the other end that answers. When
//! they pass the devices is measured by the router.

use crate::clock::{set_realtime_priority, Clock, MonotonicClock};
use crate::flows::RunState;
use crate::hosts::{Hosts, PROBE_PORT, RECEIVERS, SENDERS};
use crate::{Context, EmuError};
use path::plan::{Direction, Plan, Probe};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use units::{Span, Time};

/// Payload of a probe, bytes: as `ping` sends, and as the simulator's is.
const PAYLOAD: usize = 56;
/// The longest wait, so that threads see the end of the run.
const WAIT_MAX: Span = Span::from_ms(50);

/// The threads of all series.
pub struct Probers(Vec<JoinHandle<io::Result<()>>>);

/// Starts both ends of all series, which wait for the run.
///
/// # Errors
/// When a socket cannot be made.
pub fn start(
    plan: &Plan,
    hosts: &Hosts,
    clock: MonotonicClock,
    state: &Arc<RunState>,
) -> Result<Probers, EmuError> {
    let mut threads = Vec::new();
    for (i, probe) in (plan.flows.len() as u32..).zip(&plan.probes) {
        let down = Ipv4Addr::from(RECEIVERS + i);
        let up = Ipv4Addr::from(SENDERS + i);
        let ((near, own), (far, to)) = match probe.direction {
            Direction::Down => ((&hosts.senders, up), (&hosts.receivers, down)),
            Direction::Up => ((&hosts.receivers, down), (&hosts.senders, up)),
        };
        let answering = far.within(|| answering(to)).context(|| format!("probes to {to}"))?;
        let asking = near.within(|| asking(own, to)).context(|| format!("probes from {own}"))?;
        let (probe, its) = (probe.clone(), state.clone());
        threads.push(thread::spawn(move || ask(&probe, &asking, &clock, &its)));
        let its = state.clone();
        threads.push(thread::spawn(move || answer(&answering, &its)));
    }
    Ok(Probers(threads))
}

impl Probers {
    /// Waits until they have seen that the run has stopped; says what went wrong.
    pub fn finish(self) -> Vec<String> {
        let ended = self.0.into_iter().map(|thread| thread.join().expect("probing does not panic"));
        let errors = ended.filter_map(Result::err);
        errors.map(|error| format!("probes are missing: {error}")).take(1).collect()
    }
}

fn answering(own: Ipv4Addr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((own, PROBE_PORT))?;
    socket.set_read_timeout(Some(Duration::from_nanos(WAIT_MAX.as_ns())))?;
    Ok(socket)
}

fn asking(own: Ipv4Addr, to: Ipv4Addr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((own, PROBE_PORT))?;
    socket.connect((to, PROBE_PORT))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Sends a request at each time, with its number, until none is due any more.
fn ask(
    probe: &Probe,
    socket: &UdpSocket,
    clock: &MonotonicClock,
    state: &RunState,
) -> io::Result<()> {
    set_realtime_priority();
    let (mut due, mut number) = (Time::from_ns(probe.start_ns), 0u32);
    let mut packet = [0; PAYLOAD];
    while due < Time::from_ns(probe.stop_ns) && !state.stop.load(Relaxed) {
        clock.sleep_until(due.min(clock.now() + WAIT_MAX));
        if clock.now() < due {
            continue;
        }
        packet[..4].copy_from_slice(&number.to_be_bytes());
        socket.send(&packet)?;
        number += 1;
        due += Span::from_ns(probe.every_ns);
        // Answers are measured where they leave the path.
        while socket.recv(&mut [0; PAYLOAD]).is_ok() {}
    }
    Ok(())
}

/// Answers every request at once.
fn answer(socket: &UdpSocket, state: &RunState) -> io::Result<()> {
    set_realtime_priority();
    let mut packet = [0; PAYLOAD];
    while !state.stop.load(Relaxed) {
        match socket.recv_from(&mut packet) {
            Ok((length, from)) => socket.send_to(&packet[..length], from).map(|_| ())?,
            Err(error) if is_wait(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_wait(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}
