//! What controllers say of themselves, beside what the kernel tells of every socket.

use crate::diag::Bbr;
use std::io;

/// Of one socket; none: the controller does not tell that, or has no value yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Segments marked lost so far.
    pub lost: Option<u32>,
    /// State it is in, as it names it.
    pub state: Option<&'static str>,
    /// Payload bit/s.
    pub bw_bps: Option<u64>,
    pub min_rtt_us: Option<u32>,
    /// In 1/256.
    pub pacing_gain: Option<u32>,
    pub cwnd_gain: Option<u32>,
    /// Segments.
    pub inflight_lo: Option<u32>,
    pub inflight_hi: Option<u32>,
}

/// Asks them: calls its argument with address, port and what there is to tell of each socket of the namespace that the
/// calling thread is in.
pub type Ask = dyn FnMut(&mut dyn FnMut(u32, u16, Told)) -> io::Result<()> + Send;

impl From<Bbr> for Told {
    fn from(bbr: Bbr) -> Told {
        Told {
            bw_bps: Some(bbr.bw.saturating_mul(8)),
            min_rtt_us: Some(bbr.min_rtt_us),
            pacing_gain: Some(bbr.pacing_gain),
            cwnd_gain: Some(bbr.cwnd_gain),
            ..Told::default()
        }
    }
}
