//! The tail loss probe that is out (RFC 8985 section 7): what ACKs say about it (`tcp_process_tlp_ack`).

use super::super::ack_state::{flag, AckState};

/// A probe, new data or the last segment again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Segment after the last one that was outstanding when it was sent (`tlp_high_seq`).
    pub end: u32,
    /// It was a retransmission.
    pub is_retrans: bool,
}

/// What an ACK says about the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing.
    None,
    /// It answers the probe, and nothing was lost.
    Done,
    /// The probe repaired a loss, which calls for a reduction.
    Repaired,
    /// It acknowledges what the probe retransmitted, perhaps the original: the next ACKs tell.
    MayBeProbe,
}

impl Probe {
    /// What an ACK for everything before `ack` says.
    pub fn answer(&self, ack: u32, st: &AckState) -> Answer {
        let progress = flag::SND_UNA_ADVANCED | flag::NOT_DUP | flag::DATA_SACKED;
        if ack < self.end {
            Answer::None
        } else if !self.is_retrans || st.has(flag::DSACK_TLP) {
            Answer::Done
        } else if ack > self.end {
            Answer::Repaired
        } else if st.has(progress) {
            Answer::MayBeProbe
        } else {
            Answer::Done
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(is_retrans: bool, ack: u32, flag: i32) -> Answer {
        let st = AckState { flag, ..AckState::new(0) };
        Probe { end: 10, is_retrans }.answer(ack, &st)
    }

    #[test]
    fn an_ack_beyond_a_retransmitted_probe_shows_that_it_repaired_a_loss() {
        let acked = flag::SND_UNA_ADVANCED | flag::DATA_ACKED;
        assert_eq!(answer(true, 9, acked), Answer::None);
        assert_eq!(answer(true, 10, acked), Answer::MayBeProbe);
        assert_eq!(answer(true, 11, acked), Answer::Repaired);
        assert_eq!(answer(false, 11, acked), Answer::Done);
    }

    #[test]
    fn a_duplicate_of_the_probe_shows_that_nothing_was_lost() {
        assert_eq!(answer(true, 10, 0), Answer::Done);
        assert_eq!(answer(true, 11, flag::DSACK_TLP), Answer::Done);
    }
}
