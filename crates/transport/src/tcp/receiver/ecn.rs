//! The receiver's half of ECN: what an arriving code point does to the acknowledgements.

use super::super::ecn::{Feedback, ACE_INIT, ACE_SYN_ACK};
use net::frame::ecn::{CE, ECT0, ECT1, NOT_ECT};
use net::TcpAck;

/// Marked packets of which each ACK must tell the sender before more come (RFC 9768, section
/// 3.2.2.5.1: with newly arrived data, every second).
const ACE_MARKS_PER_ACK: u32 = 2;

/// What the acknowledgement engine has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Nothing.
    None,
    /// Enter quick-ACK mode for two segments.
    Quick,
    /// Acknowledge at once.
    Now,
    /// Acknowledge at once; if an ACK was delayed, one for everything before `next`, with `ece`, leaves first.
    Changed { next: u32, ece: bool },
}

/// See the module documentation.
#[derive(Debug, Default)]
pub struct ReceiverEcn {
    feedback: Feedback,
    /// ECE is set on ACKs (`TCP_ECN_DEMAND_CWR`).
    demand_cwr: bool,
    /// An ECN-capable packet was seen (`TCP_ECN_SEEN`).
    seen: bool,
    /// The last packet was CE (DCTCP's `ce_state`).
    is_ce: bool,
    /// What was expected next after the last packet (DCTCP's `prior_rcv_nxt`).
    prior_next: u32,
    /// Marked packets so far (AccECN's r.cep).
    marked: u64,
    /// Of these, since the last ACK.
    unreported: u32,
}

impl ReceiverEcn {
    /// State of a new connection.
    pub fn new(feedback: Feedback) -> ReceiverEcn {
        ReceiverEcn { feedback, ..ReceiverEcn::default() }
    }

    /// The SYN that came first was a retransmission, which asks for no ECN (RFC 3168, section 6.1.1.1;
    /// `tcp_ecn_clear_syn`).
    pub fn fall_back(&mut self) {
        self.feedback = Feedback::None;
    }

    /// Writes what the SYN-ACK says.
    pub fn on_syn_ack(&self, ack: &mut TcpAck) {
        match self.feedback {
            Feedback::None => {}
            Feedback::Classic | Feedback::Dctcp => ack.ece = true,
            Feedback::Accurate | Feedback::L4s => ack.ace = ACE_SYN_ACK,
        }
    }

    /// Writes the feedback of an ACK.
    pub fn on_ack(&mut self, ack: &mut TcpAck) {
        match self.feedback {
            Feedback::None => {}
            Feedback::Classic | Feedback::Dctcp => ack.ece = self.demand_cwr,
            Feedback::Accurate | Feedback::L4s => {
                ack.ace = ((u64::from(ACE_INIT) + self.marked) & 7) as u8;
                self.unreported = 0;
            }
        }
    }

    /// Where the controllers need ECN, every packet is ECN-capable, ACKs too (`INET_ECN_xmit`).
    #[inline]
    pub fn codepoint(&self) -> u8 {
        match self.feedback {
            Feedback::Dctcp => ECT0,
            Feedback::L4s => ECT1,
            Feedback::None | Feedback::Classic | Feedback::Accurate => NOT_ECT,
        }
    }

    /// A segment carries CWR: the echo ends (`tcp_ecn_accept_cwr`).
    pub fn accept_cwr(&mut self) {
        self.demand_cwr = false;
    }

    /// Whether marks are reported at all.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.feedback != Feedback::None
    }

    /// `count` segments with one code point arrived, after which `next` is expected
    /// (`__tcp_ecn_check_ce`).
    pub fn on_data(&mut self, ecn: u8, count: u32, next: u32) -> Reaction {
        let reaction = match self.feedback {
            Feedback::None => return Reaction::None,
            Feedback::Accurate | Feedback::L4s => self.count(ecn, count),
            Feedback::Classic => self.echo(ecn),
            Feedback::Dctcp if ecn == 0 => self.echo(ecn),
            Feedback::Dctcp => self.mirror(ecn == CE, next),
        };
        self.seen |= ecn != 0;
        reaction
    }

    fn echo(&mut self, ecn: u8) -> Reaction {
        match ecn {
            // Probably a retransmission.
            0 if self.seen => Reaction::Quick,
            CE if !self.demand_cwr => {
                self.demand_cwr = true;
                Reaction::Quick
            }
            _ => Reaction::None,
        }
    }

    /// `dctcp_ece_ack_update`.
    fn mirror(&mut self, is_ce: bool, next: u32) -> Reaction {
        let reaction = match self.is_ce == is_ce {
            true => Reaction::None,
            false => Reaction::Changed { next: self.prior_next, ece: self.is_ce },
        };
        self.prior_next = next;
        self.is_ce = is_ce;
        self.demand_cwr = is_ce;
        reaction
    }

    /// An ACK at the first mark after none, and at every second mark (RFC 9768, section 3.2.2.5.1).
    fn count(&mut self, ecn: u8, count: u32) -> Reaction {
        let is_first = ecn == CE && !self.is_ce;
        self.is_ce = ecn == CE;
        if ecn != CE {
            return Reaction::None;
        }
        self.marked += u64::from(count);
        self.unreported += count;
        match is_first || self.unreported >= ACE_MARKS_PER_ACK {
            true => Reaction::Now,
            false => Reaction::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dctcp_reports_each_change_with_what_came_before() {
        let mut ecn = ReceiverEcn::new(Feedback::Dctcp);
        assert_eq!(ecn.on_data(ECT0, 1, 1), Reaction::None);
        assert_eq!(ecn.on_data(CE, 1, 2), Reaction::Changed { next: 1, ece: false });
        assert_eq!(ecn.on_data(CE, 1, 3), Reaction::None);
        assert_eq!(ecn.on_data(ECT0, 1, 4), Reaction::Changed { next: 3, ece: true });
    }

    #[test]
    fn the_counter_starts_at_five_and_has_three_bits() {
        let mut ecn = ReceiverEcn::new(Feedback::Accurate);
        let mut fields = Vec::new();
        for i in 0..5 {
            ecn.on_data(CE, 1, i);
            let mut ack = TcpAck::default();
            ecn.on_ack(&mut ack);
            fields.push(ack.ace);
        }
        assert_eq!(fields, [6, 7, 0, 1, 2]);
    }

    #[test]
    fn a_retransmitted_syn_asks_for_no_ecn() {
        let mut ecn = ReceiverEcn::new(Feedback::Classic);
        ecn.fall_back();
        let mut ack = TcpAck::default();
        ecn.on_syn_ack(&mut ack);
        assert!(!ack.ece && ecn.on_data(CE, 1, 1) == Reaction::None);
    }
}
