//! What became of the probes of a series: where they were last seen, and when.

use record::ProbeRow;
use units::Time;

/// One probe, at the places that it has passed.
struct Sent {
    at: Time,
    there: Option<Time>,
    is_answered: bool,
    back: Option<Time>,
    is_under_way: bool,
}

/// See the module documentation. Probes are numbered in the order in which they are sent; of copies of one the first
/// counts.
#[derive(Default)]
pub struct ProbeLog {
    sent: Vec<Sent>,
}

impl ProbeLog {
    /// A log with room for this many.
    pub fn with_capacity(count: usize) -> ProbeLog {
        ProbeLog { sent: Vec::with_capacity(count) }
    }

    /// How many were sent.
    pub fn len(&self) -> usize {
        self.sent.len()
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// The next one is sent.
    pub fn on_sent(&mut self, now: Time) -> u32 {
        let new =
            Sent { at: now, there: None, is_answered: false, back: None, is_under_way: false };
        self.sent.push(new);
        self.sent.len() as u32 - 1
    }

    /// The one with this number is sent; of those before it that never came, nothing else will be seen. `false` if it is
    /// sent again.
    pub fn on_sent_as(&mut self, now: Time, number: u32) -> bool {
        let is_new = number as usize >= self.sent.len();
        while self.sent.len() <= number as usize {
            self.on_sent(now);
        }
        is_new
    }

    /// It reaches the other end.
    pub fn on_there(&mut self, now: Time, number: u32) {
        if let Some(sent) = self.sent.get_mut(number as usize) {
            sent.there.get_or_insert(now);
        }
    }

    /// The other end sends its answer.
    pub fn on_answer(&mut self, number: u32) {
        if let Some(sent) = self.sent.get_mut(number as usize) {
            sent.is_answered = true;
        }
    }

    /// Its answer is back.
    pub fn on_back(&mut self, now: Time, number: u32) {
        if let Some(sent) = self.sent.get_mut(number as usize) {
            sent.back.get_or_insert(now);
        }
    }

    /// At the end of the run the path has it, or its answer.
    pub fn on_held(&mut self, number: u32) {
        if let Some(sent) = self.sent.get_mut(number as usize) {
            sent.is_under_way = true;
        }
    }

    /// A row of series `number` for each probe of which the run knows what became: one that has no answer, and is nowhere
    /// on its way, is lost. One that arrived after `answered_until` is with the other end, which has not answered yet.
    pub fn rows(&self, number: i32, answered_until: Time) -> impl Iterator<Item = ProbeRow> + '_ {
        let us = |from: Time, to: Time| to.since(from).as_us() as i64;
        let is_decided = move |sent: &&Sent| {
            let is_at_other_end =
                !sent.is_answered && sent.there.is_some_and(|at| at >= answered_until);
            sent.back.is_some() || !(sent.is_under_way || is_at_other_end)
        };
        self.sent.iter().filter(is_decided).map(move |sent| ProbeRow {
            probe: number,
            sent_us: sent.at.as_us() as i64,
            there_us: sent.there.map(|at| us(sent.at, at)),
            rtt_us: sent.back.map(|at| us(sent.at, at)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_ns(ms * 1_000_000)
    }

    /// Probes that are sent each 10 ms.
    fn log(count: u64) -> ProbeLog {
        let mut log = ProbeLog::default();
        (0..count).for_each(|i| assert_eq!(u64::from(log.on_sent(ms(10 * i))), i));
        log
    }

    fn seen(log: &ProbeLog) -> Vec<(i64, Option<i64>, Option<i64>)> {
        let rows = log.rows(0, ms(90));
        rows.map(|row| (row.sent_us / 1_000, row.there_us, row.rtt_us)).collect()
    }

    #[test]
    fn of_copies_the_first_counts() {
        let mut log = log(1);
        for at in [20, 21] {
            log.on_there(ms(at), 0);
            log.on_answer(0);
            log.on_back(ms(at + 20), 0);
        }
        assert_eq!(seen(&log), [(0, Some(20_000), Some(40_000))]);
    }

    #[test]
    fn what_is_nowhere_is_lost_and_what_is_under_way_has_no_row() {
        let mut log = log(5);
        // The second is lost on its way back, the third on its way there, the fourth and the fifth are under way.
        for number in [0, 1, 3] {
            log.on_there(ms(50), number);
            log.on_answer(number);
        }
        log.on_back(ms(60), 0);
        log.on_held(3);
        log.on_held(4);
        assert_eq!(
            seen(&log),
            [(0, Some(50_000), Some(60_000)), (10, Some(40_000), None), (20, None, None)]
        );
    }

    #[test]
    fn what_the_other_end_has_just_got_is_under_way_and_what_it_has_had_for_long_is_lost() {
        let mut log = log(2);
        log.on_there(ms(80), 0);
        log.on_there(ms(95), 1);
        assert_eq!(seen(&log), [(0, Some(80_000), None)]);
    }

    #[test]
    fn numbers_that_were_never_seen_are_lost() {
        let mut log = log(1);
        assert!(log.on_sent_as(ms(20), 2));
        assert!(!log.on_sent_as(ms(30), 2));
        log.on_back(ms(50), 2);
        assert_eq!(seen(&log), [(0, None, None), (20, None, None), (20, None, Some(30_000))]);
    }

    #[test]
    fn a_copy_that_is_still_under_way_does_not_hide_an_answer() {
        let mut log = log(1);
        log.on_there(ms(20), 0);
        log.on_back(ms(40), 0);
        log.on_held(0);
        assert_eq!(seen(&log).len(), 1);
    }
}
