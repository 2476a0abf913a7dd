//! What is known of the last congestion event, and of losses in a row.

/// What is needed to undo the last reduction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Undo {
    /// The reduction may be undone.
    pub is_armed: bool,
    /// Losses that the reduction answers and that have not proved spurious.
    pub losses: u32,
    /// When it began, us.
    pub began_us: u32,
    /// `high` before it.
    pub prior_high: u32,
}

/// Consecutive packets that were all lost, which may become persistent congestion.
#[derive(Clone, Copy, Debug, Default)]
pub struct LossRun {
    /// Number after the last of them; 0: there is none.
    end: u32,
    /// When the first of them was sent, us.
    since_us: u32,
}

impl LossRun {
    /// Adds packet `number`; returns the time between the first and this one, us.
    pub fn extend(&mut self, number: u32, tx_us: u32) -> u32 {
        if self.end != number || self.end == 0 {
            self.since_us = tx_us;
        }
        self.end = number + 1;
        tx_us.wrapping_sub(self.since_us)
    }

    /// A packet of the run arrived after all.
    pub fn forget(&mut self) {
        self.end = 0;
    }
}
