//! The schedule with clients that note what is asked of them.

use super::*;
use crate::simulated::{ms, plan, SimClock};
use std::cell::RefCell;
use std::rc::Rc;

#[derive(Clone, Default)]
struct Noted {
    clock: SimClock,
    calls: Rc<RefCell<Vec<(Time, &'static str)>>>,
    has_ended: bool,
}

impl Noted {
    fn note(&self, call: &'static str) {
        self.calls.borrow_mut().push((self.clock.now(), call));
    }
}

impl Client for Noted {
    fn start(&mut self) {
        self.note("start");
    }

    fn stop(&self) {
        self.note("stop");
    }

    fn has_ended(&mut self) -> bool {
        self.has_ended
    }
}

/// A plan whose flow starts at 120 ms and stops at 500 ms.
fn half() -> Plan {
    let mut plan = plan("");
    (plan.flows[0].start_ns, plan.flows[0].stop_ns) = (120_000_000, 500_000_000);
    plan
}

fn schedule<'a>(plan: &'a Plan, client: &Noted) -> FlowSchedule<'a, SimClock, Noted> {
    FlowSchedule::new(plan, client.clock.clone(), vec![client.clone()], RunState::new(1))
}

#[test]
fn flows_start_and_stop_at_their_times_and_a_stop_notes_what_has_arrived() {
    let (plan, client) = (half(), Noted::default());
    let mut schedule = schedule(&plan, &client);
    let state = schedule.state.clone();
    state.flows[0].delivered_bytes.store(7_000, Relaxed);
    state.delivered.store(5, Relaxed);
    let mut asked = Vec::new();
    schedule
        .run(&mut |at, packets| {
            asked.push((at, packets));
            true
        })
        .expect("not stopped");
    assert_eq!(*client.calls.borrow(), [(ms(120), "start"), (ms(500), "stop")]);
    assert!(state.flows[0].is_closed.load(Relaxed));
    assert_eq!(asked[..4], [(0, 5), (50_000_000, 5), (100_000_000, 5), (120_000_000, 5)]);
    assert_eq!(client.clock.now(), ms(2_000));
    assert_eq!(schedule.finish(), [Stopped { flow: 0, at: ms(500), delivered_bytes: 7_000 }]);
}

#[test]
fn a_transfer_that_has_arrived_is_not_stopped() {
    let (plan, client) = (half(), Noted::default());
    let mut schedule = schedule(&plan, &client);
    schedule.state.flows[0].is_completed.store(true, Relaxed);
    schedule.run(&mut |_, _| true).expect("not stopped");
    assert_eq!(*client.calls.borrow(), [(ms(120), "start")]);
    assert_eq!(schedule.finish(), []);
}

#[test]
fn the_caller_can_stop_the_run() {
    let (plan, client) = (half(), Noted::default());
    let ended = schedule(&plan, &client).run(&mut |at, _| at < 100_000_000);
    assert!(matches!(ended, Err(EmuError::Stopped)));
    assert_eq!(client.clock.now(), ms(100));
    assert!(client.calls.borrow().is_empty());
}

#[test]
fn a_client_that_ended_before_its_flow_was_over_is_a_warning() {
    let plan = half();
    let client = Noted { has_ended: true, ..Noted::default() };
    let mut schedule = schedule(&plan, &client);
    let warning = "flow 0: its client ended before its time; traffic/0.json says why";
    assert_eq!(schedule.warnings(), [warning]);
    schedule.state.flows[0].is_completed.store(true, Relaxed);
    assert_eq!(schedule.warnings(), [""; 0]);
}
