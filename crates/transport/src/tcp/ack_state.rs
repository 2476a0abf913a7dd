//! What the processing of one ACK builds up.

use crate::common::rate::Sampler;

/// Bits of [`AckState::flag`]; numbers as in the kernel, because `cong_control` gets them.
pub mod flag {
    pub const WIN_UPDATE: i32 = 0x02;
    pub const DATA_ACKED: i32 = 0x04;
    pub const RETRANS_DATA_ACKED: i32 = 0x08;
    pub const DATA_SACKED: i32 = 0x20;
    pub const ECE: i32 = 0x40;
    pub const LOST_RETRANS: i32 = 0x80;
    pub const SLOWPATH: i32 = 0x100;
    pub const ORIG_SACK_ACKED: i32 = 0x200;
    pub const SND_UNA_ADVANCED: i32 = 0x400;
    pub const DSACKING_ACK: i32 = 0x800;
    pub const SET_XMIT_TIMER: i32 = 0x1000;
    pub const SACK_RENEGING: i32 = 0x2000;
    pub const ACK_MAYBE_DELAYED: i32 = 0x10000;
    pub const DSACK_TLP: i32 = 0x20000;
    pub const NOT_DUP: i32 = WIN_UPDATE | DATA_ACKED;
    pub const CA_ALERT: i32 = DATA_SACKED | ECE | DSACKING_ACK;
    pub const FORWARD_PROGRESS: i32 = DATA_ACKED | DATA_SACKED;
}

/// What to send after the window is updated (`REXMIT_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rexmit {
    None,
    Lost,
    /// New data, to find out whether a timeout was spurious (F-RTO).
    New,
}

/// See the module documentation.
pub struct AckState {
    /// Bits of [`flag`].
    pub flag: i32,
    pub sampler: Sampler,
    /// When the first and the last of the newly SACKed segments were sent, us.
    pub first_sackt: Option<u32>,
    pub last_sackt: u32,
    /// Segments that SACK blocks newly report, duplicates included.
    pub sack_delivered: u32,
    /// Lowest segment that shows reordering.
    pub reord: u32,
    pub rexmit: Rexmit,
    /// First unacknowledged segment before.
    pub prior_una: u32,
    pub is_dupack: bool,
    /// The peer's timestamp moved on.
    pub is_newer: bool,
    /// Data that was never sent waits, and the receive window takes it; set while F-RTO asks.
    pub can_send_new: bool,
    /// Bytes by which the segments from `prior_una` to the highest SACKed one are shorter than full ones; set while
    /// recovery decides.
    pub missing_from_una: u64,
}

impl AckState {
    /// The state before anything is known of an ACK that arrives while `prior_una` is the first unacknowledged
    /// segment.
    #[inline]
    pub fn new(prior_una: u32) -> AckState {
        AckState {
            flag: 0,
            sampler: Sampler::default(),
            first_sackt: None,
            last_sackt: 0,
            sack_delivered: 0,
            reord: 0,
            rexmit: Rexmit::None,
            prior_una,
            is_dupack: false,
            is_newer: false,
            can_send_new: false,
            missing_from_una: 0,
        }
    }

    /// Whether one of these bits is set.
    #[inline]
    pub fn has(&self, bits: i32) -> bool {
        self.flag & bits != 0
    }
}
