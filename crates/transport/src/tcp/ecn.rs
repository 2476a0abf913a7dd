//! ECN: how marks are fed back, and the sender's half.
//!
//! Classic ECN (RFC 3168) and DCTCP's echo (RFC 8257) are those of Linux 6.12: ECT on new data only,
//! unless the controller needs ECN; CWR on the next new segment after a reduction. Accurate ECN (RFC
//! 9768, the ACE field without its options) is not in Linux 6.12; its arithmetic is that of Linux 6.18
//! (`__tcp_accecn_process` in net/ipv4/tcp_input.c). It changes the feedback only, not which packets are
//! ECN-capable. Both hosts of a flow have one setting, so the SYN-ACK alone tells the sender what was
//! negotiated. A controller of L4S (RFC 9331) gets accurate ECN, and ECT(1) on every packet, as in the kernel of
//! the L4S team.

use cca::Controller;
use net::frame::ecn::{ECT0, ECT1, NOT_ECT};
use net::host::EcnMode;

/// First value of AccECN's counter: all zeros and all ones would look like other protocols' flags
/// (RFC 9768, section 3.2.1).
pub const ACE_INIT: u8 = 5;
/// What a SYN-ACK carries instead of the counter: AccECN, and the SYN was not ECN-capable (RFC 9768,
/// table 2).
pub const ACE_SYN_ACK: u8 = 2;
/// The ACE field has three bits.
const ACE_MASK: u32 = 7;
/// Binary places of the average of segments per ACK (`PKTS_ACKED_PREC`).
const AVERAGE_SHIFT: u32 = 6;
/// Average above which ACKs count as thinned: four segments (`ACK_COMP_THRESH`).
const THINNED: u32 = 4 << AVERAGE_SHIFT;

/// How the receiver reports marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Feedback {
    /// Not negotiated.
    #[default]
    None,
    /// ECE from the first mark until CWR (RFC 3168).
    Classic,
    /// ECE mirrors the CE mark; an ACK at each change (RFC 8257).
    Dctcp,
    /// A counter of marked packets in each ACK (RFC 9768).
    Accurate,
    /// The same, with ECT(1) on every packet (RFC 9331).
    L4s,
}

impl Feedback {
    /// What a flow with this controller gets. In Linux both ends choose their controller; here the
    /// receiver follows the sender's: DCTCP's echo where the module needs ECN, or where its parameter
    /// `ecn_enable` (BBRv2 and later) says that it answers marks one by one. A module of L4S gets accurate
    /// ECN whatever the host is set to (`tcp_ecn_send_syn` of the L4S team), unless that is classic ECN,
    /// which stands for a peer that knows no other.
    pub fn of(controller: &Controller, mode: EcnMode) -> Feedback {
        if controller.module().needs_l4s() {
            return match mode {
                EcnMode::Off | EcnMode::Accurate => Feedback::L4s,
                EcnMode::Classic => Feedback::Classic,
            };
        }
        let needs = controller.module().needs_ecn();
        let is_precise = needs || controller.param("ecn_enable").is_some_and(|on| on != 0);
        match mode {
            EcnMode::Accurate => Feedback::Accurate,
            EcnMode::Classic if is_precise => Feedback::Dctcp,
            EcnMode::Classic => Feedback::Classic,
            EcnMode::Off if needs => Feedback::Dctcp,
            EcnMode::Off => Feedback::None,
        }
    }
}

impl From<bool> for Feedback {
    /// Classic ECN or none.
    fn from(is_on: bool) -> Feedback {
        if is_on {
            Feedback::Classic
        } else {
            Feedback::None
        }
    }
}

/// Sender's half.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderEcn {
    /// Negotiated on the handshake.
    pub is_on: bool,
    /// Marks are counted by the ACE field, and CWR is a bit of it.
    pub is_accurate: bool,
    /// Packets carry ECT(1) instead of ECT(0).
    pub is_l4s: bool,
    queue_cwr: bool,
    /// Segments that an ACK newly delivers on average, 1/64 (`pkts_acked_ewma`); 0 before the first ACK.
    acked_average: u32,
}

/// What an ACK with an ACE field did.
#[derive(Clone, Copy, Debug)]
pub struct AceProgress {
    /// Its ACE field.
    pub ace: u8,
    /// Marks counted before it (`tp->delivered_ce`).
    pub delivered_ce: u32,
    /// Segments that it newly delivered.
    pub acked: u32,
}

impl SenderEcn {
    /// What controllers see of it (`tp->ecn_flags`).
    pub fn flags(&self) -> u8 {
        match (self.is_on, self.is_accurate) {
            (false, _) => 0,
            (true, false) => cca::TCP_ECN_OK,
            (true, true) => cca::TCP_ECN_OK | cca::TCP_ECN_MODE_ACCECN,
        }
    }

    /// A reduction began: tell the receiver on the next new segment.
    pub fn queue_cwr(&mut self) {
        self.queue_cwr = self.is_on && !self.is_accurate;
    }

    /// The reduction was undone.
    pub fn withdraw_cwr(&mut self) {
        self.queue_cwr = false;
    }

    /// Code point and CWR flag of a data segment (`tcp_ecn_send`).
    #[inline]
    pub fn on_send(&mut self, is_retrans: bool, needs_ecn: bool) -> (u8, u8) {
        if !self.is_on || (is_retrans && !needs_ecn) {
            return (NOT_ECT, 0);
        }
        if !is_retrans && std::mem::take(&mut self.queue_cwr) {
            return (ECT0, net::flags::CWR);
        }
        (self.capable(), 0)
    }

    /// Code point of a packet without data: ECN-capable only if the controller needs that.
    pub fn on_control(&self, needs_ecn: bool) -> u8 {
        if self.is_on && needs_ecn {
            self.capable()
        } else {
            NOT_ECT
        }
    }

    /// Code point of an ECN-capable packet.
    #[inline]
    fn capable(&self) -> u8 {
        if self.is_l4s {
            ECT1
        } else {
            ECT0
        }
    }

    /// A connection that this side opened: the SYN counts as the first segment delivered.
    pub fn on_own_syn(&mut self) {
        self.acked_average = 1 << AVERAGE_SHIFT;
    }

    /// Packets that an ACK newly reports as marked (RFC 9768, section 3.2.2.5 and appendix A.2).
    ///
    /// More than 7 newly delivered segments may have wrapped the counter once or more; then the largest number that fits
    /// is assumed, unless ACKs are thinned, so that most deliver many segments.
    pub fn newly_marked(&mut self, p: &AceProgress) -> u32 {
        if p.acked > 0 {
            let now = p.acked << AVERAGE_SHIFT;
            let before = self.acked_average;
            let average = if before == 0 { now } else { (before * 63 + now) >> 6 };
            self.acked_average = average.min(0xffff);
        }
        let seen = u32::from(p.ace).wrapping_sub(u32::from(ACE_INIT));
        let delta = seen.wrapping_sub(p.delivered_ce) & ACE_MASK;
        if p.acked <= ACE_MASK || self.acked_average > THINNED {
            delta
        } else {
            p.acked - (p.acked.wrapping_sub(delta) & ACE_MASK)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cwr_rides_on_the_next_new_segment_only() {
        let mut ecn = SenderEcn { is_on: true, ..SenderEcn::default() };
        ecn.queue_cwr();
        assert_eq!(ecn.on_send(true, false), (0, 0));
        assert_eq!(ecn.on_send(false, false), (ECT0, net::flags::CWR));
        assert_eq!(ecn.on_send(false, false), (ECT0, 0));
    }

    #[test]
    fn without_negotiation_nothing_is_marked() {
        let mut ecn = SenderEcn::default();
        ecn.queue_cwr();
        assert_eq!(ecn.on_send(false, true), (0, 0));
    }

    #[test]
    fn accurate_ecn_has_no_cwr() {
        let mut ecn = SenderEcn { is_on: true, is_accurate: true, ..SenderEcn::default() };
        ecn.queue_cwr();
        assert_eq!(ecn.on_send(false, false), (ECT0, 0));
    }

    #[test]
    fn l4s_marks_every_packet_ect_1() {
        let mut ecn =
            SenderEcn { is_on: true, is_accurate: true, is_l4s: true, ..SenderEcn::default() };
        ecn.queue_cwr();
        assert_eq!([ecn.on_send(false, true), ecn.on_send(true, true)], [(ECT1, 0); 2]);
        assert_eq!(ecn.on_control(true), ECT1);
    }

    fn marked(ecn: &mut SenderEcn, ace: u8, delivered_ce: u32, acked: u32) -> u32 {
        ecn.newly_marked(&AceProgress { ace, delivered_ce, acked })
    }

    #[test]
    fn up_to_seven_segments_the_counter_is_exact() {
        let mut ecn = SenderEcn::default();
        for acked in 1..=7 {
            for marks in 0..=acked {
                for before in 0..20 {
                    let ace = ((5 + before + marks) % 8) as u8;
                    assert_eq!(marked(&mut ecn, ace, before, acked), marks);
                }
            }
        }
    }

    #[test]
    fn beyond_seven_segments_the_largest_number_that_fits_is_assumed() {
        let mut ecn = SenderEcn::default();
        ecn.on_own_syn();
        // 20 segments: 3, 11 or 19 marks move the field by 3.
        assert_eq!(marked(&mut ecn, 0, 0, 20), 19);
        // 9 segments: a move of 2 is 2 marks, since 10 do not fit.
        assert_eq!(marked(&mut ecn, 7, 0, 9), 2);
        // A field that did not change is a wrap as well.
        assert_eq!(marked(&mut ecn, 5, 0, 9), 8);
    }

    #[test]
    fn where_most_acks_deliver_many_segments_no_wrap_is_assumed() {
        let mut ecn = SenderEcn::default();
        assert_eq!(marked(&mut ecn, 6, 0, 10), 1);
        assert_eq!(marked(&mut ecn, 6, 1, 17), 0);
        // Five ACKs of two segments for each of ten bring the average below four.
        for _ in 0..100 {
            marked(&mut ecn, 6, 1, 2);
        }
        assert_eq!(marked(&mut ecn, 6, 1, 10), 8);
    }
}
