//! Classic ECN (RFC 3168) at both ends, as Linux does it: ECT on new data only, unless the controller
//! needs ECN; CWR on the next new segment after a reduction; the receiver echoes until it sees CWR.

/// ECT(0), the code point that Linux sends.
pub const ECT0: u8 = 2;
/// Congestion experienced.
pub const CE: u8 = 3;

/// Sender's half.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderEcn {
    /// Negotiated on the handshake.
    pub is_on: bool,
    queue_cwr: bool,
}

impl SenderEcn {
    /// A reduction began: tell the receiver on the next new segment.
    pub fn queue_cwr(&mut self) {
        self.queue_cwr = self.is_on;
    }

    /// The reduction was undone.
    pub fn withdraw_cwr(&mut self) {
        self.queue_cwr = false;
    }

    /// Code point and CWR flag of a data segment.
    #[inline]
    pub fn on_send(&mut self, is_retrans: bool, needs_ecn: bool) -> (u8, u8) {
        if !self.is_on || (is_retrans && !needs_ecn) {
            return (0, 0);
        }
        if !is_retrans && std::mem::take(&mut self.queue_cwr) {
            return (ECT0, net::flags::CWR);
        }
        (ECT0, 0)
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
}
