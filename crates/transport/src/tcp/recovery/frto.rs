//! F-RTO (RFC 5682, with SACK): was the timeout spurious? (`tcp_process_loss` in net/ipv4/tcp_input.c).

/// Whether the question is still open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frto {
    /// The ACKs that come next decide.
    Undecided,
    /// Segments were lost, or nobody asks.
    Lost,
}

/// What an ACK in Loss tells.
#[derive(Clone, Copy, Debug)]
pub struct Evidence {
    /// It delivers a segment that was sent before the timeout and not since.
    pub orig_acked: bool,
    /// New data was sent since the timeout.
    pub has_sent_new: bool,
    /// It SACKs segments or delivers nothing.
    pub is_duplicate: bool,
    /// It acknowledges cumulatively, but not all that was sent before the timeout.
    pub is_partial: bool,
    /// Data that was never sent waits, and the receive window takes it.
    pub can_send_new: bool,
}

/// What follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The timeout was spurious.
    Spurious,
    /// New data is sent, which the next ACKs answer.
    SendNew,
    /// Nothing that F-RTO decides.
    Nothing,
}

impl Frto {
    /// Judges an ACK.
    pub fn judge(&mut self, e: Evidence) -> Verdict {
        if *self == Frto::Lost {
            return Verdict::Nothing;
        }
        if e.orig_acked {
            return Verdict::Spurious;
        }
        if !e.has_sent_new && e.is_partial && e.can_send_new {
            return Verdict::SendNew;
        }
        if if e.has_sent_new { e.is_duplicate } else { e.is_partial } {
            *self = Frto::Lost;
        }
        Verdict::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Evidence = Evidence {
        orig_acked: false,
        has_sent_new: false,
        is_duplicate: false,
        is_partial: false,
        can_send_new: true,
    };

    #[test]
    fn an_original_that_arrives_shows_a_spurious_timeout() {
        let evidence = Evidence { orig_acked: true, ..NOTHING };
        assert_eq!(Frto::Undecided.judge(evidence), Verdict::Spurious);
        assert_eq!(Frto::Lost.judge(evidence), Verdict::Nothing);
    }

    #[test]
    fn a_partial_ack_is_answered_by_new_data_and_a_duplicate_after_it_shows_loss() {
        let mut frto = Frto::Undecided;
        let partial = Evidence { is_partial: true, ..NOTHING };
        assert_eq!(frto.judge(partial), Verdict::SendNew);
        let duplicate = Evidence { has_sent_new: true, is_duplicate: true, ..NOTHING };
        assert_eq!((frto.judge(duplicate), frto), (Verdict::Nothing, Frto::Lost));
    }

    #[test]
    fn without_new_data_a_partial_ack_ends_the_question() {
        let mut frto = Frto::Undecided;
        let partial = Evidence { is_partial: true, can_send_new: false, ..NOTHING };
        assert_eq!((frto.judge(partial), frto), (Verdict::Nothing, Frto::Lost));
    }
}
