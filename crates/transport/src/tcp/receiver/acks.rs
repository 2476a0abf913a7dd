//! When the receiver sends an acknowledgement, and what is in it.

use super::ack_policy::MAX_QUICKACKS;
use super::ecn::Reaction;
use super::gro::Run;
use super::Receiver;
use crate::common::clock::{host_ns, timestamp_ms};
use net::frame::ecn::CE;
use net::{Ack, TcpAck};
use units::Time;

impl Receiver {
    /// PAWS: the segments are dropped.
    pub(super) fn reject(&mut self, now: Time, run: Run, out: &mut Vec<Ack>) {
        self.stats.paws_rejected += u64::from(run.count);
        self.repeat_ack(now, run, out);
    }

    /// Segments that are dropped before anything else is asked are answered at once (`tcp_send_dupack`).
    pub(super) fn repeat_ack(&mut self, now: Time, run: Run, out: &mut Vec<Ack>) {
        if run.first.seq < self.rcv_nxt {
            self.take_late(run);
            let end = run.first.seq + run.count;
            self.policy.enter_quick(MAX_QUICKACKS, self.window.offered());
            self.dsack = Some((run.first.seq, end.min(self.rcv_nxt)));
        }
        self.send_ack(now, out);
    }

    /// What was received but not acknowledged before is reported as a duplicate.
    pub(super) fn on_old(&mut self, now: Time, run: Run, out: &mut Vec<Ack>) {
        self.take_late(run);
        self.policy.enter_quick(MAX_QUICKACKS, self.window.offered());
        self.dsack = Some((run.first.seq, run.first.seq + run.count));
        self.send_ack(now, out);
    }

    /// Data in order up to `next` ran over what was held: that is a duplicate, in one block with one before it that it
    /// touches (`tcp_dsack_extend`).
    pub(super) fn report_held(&mut self, next: u32) {
        let Some(held) = self.ooo.held_before(next) else { return };
        self.dsack = Some(match self.dsack {
            None => held,
            Some((start, end)) if held.0 <= end => (start, end.max(held.1)),
            Some(separate) => separate,
        });
    }

    /// The delayed ACK of what came before the CE mark changed. It offers the window of what is here
    /// now, and leaves quick ACKs and the timer alone (`__tcp_send_ack` with an old `rcv_nxt`).
    pub(super) fn send_prior_ack(
        &mut self,
        now: Time,
        prior: (u32, bool),
        next: u32,
        out: &mut Vec<Ack>,
    ) {
        self.compression.on_ack_sent();
        let bytes = self.extent.bytes_up_to(next);
        let window = self.window.offer(bytes, self.free());
        self.set_may_be_short_from();
        (self.rcv_wup, self.acked_bytes) = (next, bytes);
        let ack = TcpAck { ece: prior.1, ..self.report(now, prior.0, window) };
        out.push(Ack { ecn: self.ecn.codepoint(), ..ack.into() });
    }

    /// What the congestion mark of a run, or that it has none, does to ACKs; `next` is expected after it.
    #[inline(never)]
    pub(super) fn take_ce(&mut self, now: Time, run: Run, next: u32, out: &mut Vec<Ack>) {
        if run.first.ecn == CE {
            self.stats.ce_packets += u64::from(run.count);
        }
        match self.ecn.on_data(run.first.ecn, run.count, next) {
            Reaction::None => {}
            Reaction::Quick => self.policy.enter_quick(2, self.window.offered()),
            Reaction::Now => self.policy.ack_now(),
            Reaction::Changed { next: prior, ece } => {
                if self.policy.delayed_until().is_set() {
                    self.send_prior_ack(now, (prior, ece), next, out);
                }
                self.policy.ack_now();
            }
        }
    }

    /// `__tcp_ack_snd_check`.
    #[inline(always)]
    pub(super) fn check_ack(&mut self, now: Time, out: &mut Vec<Ack>) {
        let leaves = if self.is_ack_due() {
            true
        } else if self.ooo.is_empty() {
            self.policy.delay(now, self.timestamps.srtt_us())
        } else {
            let rtt_us = self.timestamps.compression_rtt_us();
            self.compression.passes(now, self.rcv_nxt, rtt_us, self.policy.timer_until())
        };
        if leaves {
            self.send_ack(now, out);
        }
    }

    /// Whether what arrived is acknowledged at once. While the reader is about to run, an ACK that no mode asks for waits for
    /// it, unless it offers as much as the one before.
    #[inline(always)]
    pub(super) fn is_ack_due(&self) -> bool {
        if self.policy.is_quick() || !self.config.delayed_ack {
            return true;
        }
        self.policy.is_due(self.unacked())
            && (!self.is_reader_due() || self.window.select(self.free()) >= self.window.offered())
    }

    pub(super) fn send_ack(&mut self, now: Time, out: &mut Vec<Ack>) {
        self.compression.on_ack_sent();
        let free = self.free();
        if self.window.is_half_full(free) {
            self.policy.leave_quick();
        }
        self.policy.on_ack_sent();
        let bytes = self.stats.delivered_bytes;
        let window = self.window.offer(bytes, free);
        self.set_may_be_short_from();
        let prior = (self.rcv_wup, self.acked_bytes);
        (self.rcv_wup, self.acked_bytes) = (self.rcv_nxt, bytes);
        let ecn = self.ecn.codepoint();
        if self.has_reports() {
            let ack = self.report(now, self.rcv_nxt, window);
            if self.misbehaving.is_some() {
                self.send_misbehaving(ack, prior, ecn, out);
            } else {
                out.push(Ack { ecn, ..ack.into() });
            }
        } else {
            // Written where it goes, field by field, and nowhere before: a copy would wait until the fields are stored.
            let ack = self.acknowledge(now, self.rcv_nxt, window);
            out.push(Ack { ecn, ..ack.into() });
        }
        self.extent.forget_below(self.rcv_wup);
    }

    /// An ACK for everything before `next`.
    #[inline(always)]
    fn acknowledge(&mut self, now: Time, next: u32, window: u32) -> TcpAck {
        self.stats.acks_sent += 1;
        TcpAck {
            ack: next,
            window,
            ts_ecr: self.timestamps.recent(),
            ts_val: timestamp_ms(host_ns(now)),
            ..TcpAck::default()
        }
    }

    /// Whether an ACK says more than what it acknowledges, or there are others than TCP has.
    #[inline]
    fn has_reports(&self) -> bool {
        self.ecn.is_on()
            || self.dsack.is_some()
            || !self.ooo.is_empty()
            || self.misbehaving.is_some()
    }

    /// The same with counts of marks, what came twice, and what is held out of order.
    #[inline(never)]
    fn report(&mut self, now: Time, next: u32, window: u32) -> TcpAck {
        let mut ack = self.acknowledge(now, next, window);
        if self.ecn.is_on() {
            self.ecn.on_ack(&mut ack);
        }
        let dsack = self.dsack.take();
        ack.is_dsack = dsack.is_some();
        for block in dsack.into_iter().chain(self.ooo.sacks().iter().copied()).take(3) {
            ack.sacks[ack.n_sacks as usize] = block;
            ack.n_sacks += 1;
        }
        ack
    }
}
