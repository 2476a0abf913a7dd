//! Requests of the application at the receiving end: data of its own, with which ACKs leave, and what they change in when
//! it acknowledges (`tcp_event_data_sent`, the interactive or "pingpong" mode).
//!
//! A request is one short segment, and the next one comes after the whole answer. So it is acknowledged by whatever comes
//! after it, and a window for it is never missing. It is sent again after the host's own timeout, first as a tail loss
//! probe (`tcp_schedule_loss_probe`), then with doubled timeouts.

use super::super::rtt::{timeout_us, Estimates, Estimator, RTO_MAX_US, RTO_MIN_US};
use super::Receiver;
use net::{Ack, AckKind};
use units::Time;

/// See the module documentation.
#[derive(Debug, Default)]
pub struct Requests {
    /// When the one was sent that has no answer yet; [`Time::NEVER`] when it was sent more than once, since its answer
    /// tells no RTT then.
    sent_at: Option<Time>,
    /// How often it was sent again.
    again: u32,
    /// How often any was sent.
    transmissions: u64,
    /// The host's own estimates of the RTT: srtt 1/8 us, the deviations 1/4 us.
    srtt: u32,
    mdev: u32,
    rttvar: u32,
    estimator: Estimator,
    sent: u32,
}

impl Receiver {
    /// The application sends a request, with what it has to acknowledge; again if the last one is not answered. Returns when
    /// it is to be sent again.
    pub fn ask(&mut self, now: Time, out: &mut Vec<Ack>) -> Time {
        if self.reads_at.is_set() {
            // It has read the answer before it asks again.
            self.read();
            if self.is_ack_of_reader_due() {
                self.send_ack(now, out);
            }
        }
        self.send_ack(now, out);
        if let Some(ack) = out.last_mut() {
            ack.kind = AckKind::Request;
        }
        self.policy.on_data_sent(now);
        let handshake_us = self.timestamps.srtt_us() as u32;
        let requests = self.requests.get_or_insert_with(|| Box::new(Requests::after(handshake_us)));
        let is_again = requests.sent_at.is_some();
        requests.again = if is_again { requests.again + 1 } else { 0 };
        requests.sent_at = Some(if is_again { Time::NEVER } else { now });
        requests.sent += u32::from(!is_again);
        requests.transmissions += 1;
        let tick = self.policy.tick();
        tick.wheel(now, tick.from_us(requests.timeout_us()))
    }

    /// ACKs that were sent without a request.
    pub fn pure_acks_sent(&self) -> u64 {
        let requests = self.requests.as_ref().map_or(0, |requests| requests.transmissions);
        self.stats.acks_sent - requests
    }

    /// Data in order came: an answer tells the RTT.
    #[cold]
    pub(super) fn note_answer(&mut self, now: Time) {
        let Some(requests) = &mut self.requests else { return };
        let Some(sent_at) = requests.sent_at.take() else { return };
        if sent_at.is_set() {
            requests.sample(now.since(sent_at).as_us() as u32);
            self.timestamps.set_own(u64::from(requests.srtt >> 3), requests.rto_us());
        }
    }
}

impl Requests {
    fn after(handshake_us: u32) -> Requests {
        let mut requests = Requests::default();
        requests.sample(handshake_us);
        requests
    }

    /// One RTT; each request is a round trip of its own.
    fn sample(&mut self, rtt_us: u32) {
        let known =
            Estimates { srtt: &mut self.srtt, mdev: &mut self.mdev, rttvar: &mut self.rttvar };
        self.estimator.sample(known, rtt_us, self.sent, self.sent);
    }

    /// When the one that was sent just now is sent again: first as a probe, if that is earlier, and timeouts double from
    /// the second on.
    fn timeout_us(&self) -> u64 {
        match self.again {
            0 => self.rto_us().min(u64::from(self.srtt >> 2) + u64::from(RTO_MIN_US)),
            again => (self.rto_us() << (again - 1).min(10)).min(RTO_MAX_US),
        }
    }

    fn rto_us(&self) -> u64 {
        timeout_us(self.srtt, self.rttvar)
    }
}
