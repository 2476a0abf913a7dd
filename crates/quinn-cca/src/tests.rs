//! Windows and samples after what quinn would tell, against values computed by hand.

use crate::state::{State, INITIAL_WINDOW};
use crate::{Factory, Unsuitable};
use cca::{Controller, Module};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const MTU: u16 = 1200;
const BYTES: u64 = 1200;

/// A controller with the packets that it has in flight.
struct Path {
    state: State,
    now: Instant,
    sent: Vec<Instant>,
}

impl Path {
    #[allow(clippy::disallowed_methods, reason = "any instant will do as the start")]
    fn new(name: &str) -> Path {
        let module = Module::find(name).expect("a built-in controller");
        let ca = Controller::new(module, &BTreeMap::new()).expect("no parameters");
        let now = Instant::now();
        Path { state: State::new(ca, 1000, 1, now, MTU, INITIAL_WINDOW), now, sent: Vec::new() }
    }

    fn wait(&mut self, us: u64) {
        self.now += Duration::from_micros(us);
    }

    fn send(&mut self, packets: u32) {
        for _ in 0..packets {
            self.state.on_sent(self.now, BYTES);
            self.sent.push(self.now);
        }
    }

    /// An acknowledgement of the oldest packets.
    fn acknowledge(&mut self, packets: usize) {
        let acked: Vec<Instant> = self.sent.drain(..packets).collect();
        acked.iter().for_each(|&sent| self.state.on_ack(self.now, sent, BYTES));
        self.state.on_end_acks(self.now, self.sent.len() as u64 * BYTES, false);
    }

    /// The oldest packets are lost.
    fn lose(&mut self, packets: usize, is_persistent: bool) {
        let lost: Vec<Instant> = self.sent.drain(..packets).collect();
        let bytes = packets as u64 * BYTES;
        self.state.on_congestion(self.now, lost[packets - 1], is_persistent, bytes);
    }

    fn cwnd(&self) -> u32 {
        self.state.sk.snd_cwnd
    }
}

#[test]
fn slow_start_doubles_and_one_loss_halves_once_a_round() {
    let mut path = Path::new("reno");
    path.send(10);
    path.wait(50_000);
    path.acknowledge(10);
    assert_eq!(path.cwnd(), 20);
    assert_eq!(path.state.window(), 20 * BYTES + 1);
    path.send(20);
    path.wait(50_000);
    path.lose(1, false);
    assert_eq!((path.cwnd(), path.state.sk.icsk_ca_state), (10, 3));
    path.lose(1, false);
    assert_eq!(path.cwnd(), 10, "of the same round");
    path.acknowledge(18);
    assert_eq!((path.cwnd(), path.state.sk.icsk_ca_state), (10, 3), "sent before");
    path.wait(1);
    path.send(10);
    path.wait(50_000);
    path.acknowledge(10);
    assert_eq!((path.cwnd(), path.state.sk.icsk_ca_state), (11, 0));
    assert_eq!((path.state.sk.lost, path.state.sk.delivered), (2, 39), "38 and the handshake");
}

#[test]
fn persistent_congestion_leaves_two_packets_and_the_state_loss() {
    let mut path = Path::new("cubic");
    path.send(10);
    path.wait(50_000);
    path.lose(10, true);
    assert_eq!((path.cwnd(), path.state.sk.icsk_ca_state), (2, 4));
    assert_eq!(path.state.sk.packets_out, 0);
}

#[test]
fn a_rate_sample_is_what_was_delivered_over_the_time_it_took() {
    let mut path = Path::new("bbr");
    // A packet a millisecond over a path of 40 ms: 1.2 MB/s.
    for i in 0..400 {
        path.send(1);
        path.wait(1_000);
        if i >= 39 {
            path.acknowledge(1);
        }
    }
    let sk = &path.state.sk;
    assert_eq!((sk.rate_delivered, sk.rate_interval_us), (40, 40_000));
    assert_eq!((sk.srtt_us >> 3, sk.rtt_min.value(), sk.packets_out), (40_000, 40_000, 39));
    let info = path.state.ca.info(sk);
    let bw = info.bw().expect("BBR estimates it");
    assert!((1_190_000..=1_201_000).contains(&bw), "{bw} B/s");
    let paced = path.state.pacing_bps().expect("BBR sets a rate");
    assert!(paced > 8 * bw / 2, "{paced} bit/s");
}

#[test]
fn a_mark_reduces_as_a_loss_does_and_counts_as_one() {
    let mut path = Path::new("reno");
    path.send(10);
    path.wait(50_000);
    let newest = path.sent[9];
    path.acknowledge(10);
    path.state.on_congestion(path.now, newest, false, 0);
    assert_eq!((path.cwnd(), path.state.sk.icsk_ca_state), (10, 2));
    assert_eq!((path.state.sk.delivered_ce, path.state.sk.lost), (1, 0));
}

#[test]
fn what_quinn_cannot_carry_is_refused() {
    let refused = |name: &str| Factory::find(name, BTreeMap::new()).err().expect("refused");
    assert!(matches!(refused("dctcp"), Unsuitable::CountsMarks(name) if name == "dctcp"));
    assert!(matches!(refused("prague"), Unsuitable::CountsMarks(_)));
    assert!(matches!(refused("none"), Unsuitable::Unknown(_)));
    let params = BTreeMap::from([("speed".to_owned(), 1)]);
    assert!(matches!(Factory::find("bbr", params), Err(Unsuitable::Param(_))));
}
