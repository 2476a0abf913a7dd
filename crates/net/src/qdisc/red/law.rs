//! When RED marks (include/net/red.h): thresholds, the draw, and adaptation.

use super::average::Average;
use super::{Config, Invalid};
use crate::rng::Rng;
use units::{Bytes, Time};

/// Average, thresholds and what stands between two marks (`struct red_parms`, `struct red_vars`).
#[derive(Debug)]
pub(super) struct Law {
    average: Average,
    /// Average queue, bytes times 2^`average.log`.
    pub queue: u64,
    /// Since when the link has been idle.
    pub idle_since: Option<Time>,
    /// `min` and `max` in the unit of `queue`.
    min: u64,
    max: u64,
    /// `max` - `min`, bytes.
    range: u32,
    /// Bounds of the middle fifth, bytes.
    target: (u64, u64),
    /// Probability at `max`, in 2^-32.
    probability: u32,
    /// The same, a byte above `min`.
    per_byte: u32,
    gentle: bool,
    /// Packets since the last mark; `None` outside the thresholds (-1 in the kernel).
    count: Option<u64>,
    /// What was drawn at the last mark.
    drawn: Draw,
}

/// A random number, and what it came to by the probability of its time, which later adaptation does
/// not touch.
#[derive(Clone, Copy, Debug, Default)]
struct Draw {
    random: u32,
    /// How many bytes of excess over `min` pass before the next mark (`qR`).
    bytes: u32,
}

/// What is to become of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It may be queued.
    Pass,
    /// By chance.
    Early,
    /// The average is at `max` or above.
    Hard,
}

/// Thresholds in bytes and burst in packets, given or by the rules of `tc`.
fn settings(config: &Config) -> Result<(u64, u64, u64), Invalid> {
    let given = [Some(config.limit), config.min, config.max, Some(config.avpkt)];
    let given = given.into_iter().flatten().map(Bytes::get).chain(config.burst);
    if let Some(value) = given.max().filter(|&value| value > u64::from(u32::MAX)) {
        return Err(Invalid::TooLarge { value });
    }
    let avpkt = config.avpkt.get();
    if avpkt == 0 {
        return Err(Invalid::NoPacket);
    }
    let by_limit = config.min.map_or(config.limit.get() / 4, |min| min.get() * 3);
    let max = config.max.map_or(by_limit, Bytes::get);
    let min = config.min.map_or(max / 3, Bytes::get);
    if max <= min {
        return Err(Invalid::Thresholds { min, max });
    }
    Ok((min, max, config.burst.unwrap_or((2 * min + max) / (3 * avpkt))))
}

/// `RED_ONE_PERCENT`.
const ONE_PERCENT: u32 = 42_949_673;

impl Law {
    /// From a configuration, where `tc` and the kernel accept it.
    pub fn derive(config: &Config) -> Result<Law, Invalid> {
        let (min, max, burst) = settings(config)?;
        let average = Average::derive(config, min, burst)?;
        if max.checked_ilog2().unwrap_or(0) + 1 + average.log >= 32 {
            return Err(Invalid::ThresholdsTooLarge { max });
        }
        let range = (max - min) as u32;
        let probability = config.probability_q32();
        if u64::from(probability) <= 2 * u64::from(range) {
            return Err(Invalid::ProbabilityTooSmall { minimum: 2 * u64::from(range) + 1 });
        }
        if config.nodrop && !config.ecn {
            return Err(Invalid::NodropWithoutEcn);
        }
        let fifth = u64::from(range / 5);
        Ok(Law {
            queue: 0,
            idle_since: Some(Time::ZERO),
            min: min << average.log,
            max: max << average.log,
            range,
            target: (min + 2 * fifth, min + 3 * fifth),
            probability,
            per_byte: (probability / range).max(1),
            gentle: config.gentle,
            count: None,
            drawn: Draw::default(),
            average,
        })
    }

    /// A packet came while `backlog` bytes waited.
    pub fn update(&mut self, now: Time, backlog: u64) {
        self.queue = match self.idle_since.take() {
            Some(since) => self.average.decay(self.queue, now.since(since)),
            None => self.average.blend(self.queue, backlog),
        };
    }

    /// What to do with the packet that came (`red_action`). Marks are spread uniformly, not geometrically, by counting packets up to a
    /// number that is drawn at each mark.
    pub fn verdict(&mut self, rng: &mut Rng) -> Verdict {
        let hard = if self.gentle { 2 * self.max } else { self.max };
        if self.queue < self.min || self.queue >= hard {
            self.count = None;
            return if self.queue < self.min { Verdict::Pass } else { Verdict::Hard };
        }
        let Some(count) = &mut self.count else {
            self.count = Some(0);
            self.draw((rng.next_u64() >> 32) as u32);
            return Verdict::Pass;
        };
        *count += 1;
        let count = *count;
        if !self.is_due(count) {
            return Verdict::Pass;
        }
        self.count = Some(0);
        self.draw((rng.next_u64() >> 32) as u32);
        Verdict::Early
    }

    /// At `max`, in 2^-32.
    #[cfg(test)]
    pub fn probability(&self) -> u32 {
        self.probability
    }

    fn draw(&mut self, random: u32) {
        self.drawn = Draw { random, bytes: random / self.per_byte };
    }

    /// Whether the `count`th packet since the last mark is the one that was drawn.
    fn is_due(&self, count: u64) -> bool {
        if self.queue < self.max {
            let above = (self.queue - self.min) >> self.average.log;
            return above * count >= u64::from(self.drawn.bytes);
        }
        let rest = (1 << 32) - u64::from(self.probability);
        let above = u128::from(rest) * u128::from(self.queue - self.max) / u128::from(self.max);
        (u128::from(self.probability) + above) * u128::from(count) >= u128::from(self.drawn.random)
    }

    /// Moves the probability (`red_adaptative_algo`).
    pub fn adapt(&mut self, now: Time) {
        let queue = match self.idle_since {
            Some(since) => self.average.decay(self.queue, now.since(since)),
            None => self.queue,
        } >> self.average.log;
        if queue > self.target.1 && self.probability <= 50 * ONE_PERCENT {
            self.probability += ONE_PERCENT.min(self.probability / 4);
        } else if queue < self.target.0 && self.probability >= ONE_PERCENT {
            self.probability = self.probability / 10 * 9;
        }
        self.per_byte = ((self.probability + self.range / 2) / self.range).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 5000 and 15000 bytes, a packet in 8 is averaged, 2 %; the average is `queue` bytes.
    fn law(queue: u64, gentle: bool) -> Law {
        let config = Config { gentle, ..Config::new(Bytes::new(60_000)) };
        let law = Law::derive(&config).expect("tc accepts it");
        Law { queue: queue << 3, idle_since: None, ..law }
    }

    #[test]
    fn the_average_moves_an_eighth_of_the_way() {
        let mut law = law(0, false);
        let mut averages = vec![];
        for backlog in [1000, 2000, 3000, 4000, 5000, 6000] {
            law.update(Time::ZERO, backlog);
            averages.push(law.queue);
        }
        // A + backlog - floor(A / 8).
        assert_eq!(averages, [1000, 2875, 5516, 8827, 12_724, 17_134]);
    }

    #[test]
    fn the_packet_that_was_drawn_is_marked() {
        let mut rng = Rng::stream(1, "red");
        let mut law = law(10_000, false);
        assert_eq!(law.per_byte, 8589);
        assert_eq!((law.verdict(&mut rng), law.count), (Verdict::Pass, Some(0)));
        // 12000 bytes of excess are to pass: the third packet at 5000 each.
        law.draw(12_000 * 8589);
        let verdicts = [0; 3].map(|_| law.verdict(&mut rng));
        assert_eq!(verdicts, [Verdict::Pass, Verdict::Pass, Verdict::Early]);
        assert_eq!(law.count, Some(0));
        law.draw(10_000 * 8589);
        assert_eq!([0; 2].map(|_| law.verdict(&mut rng)), [Verdict::Pass, Verdict::Early]);
    }

    /// Gaps between marks at a constant average.
    fn gaps(queue: u64, gentle: bool) -> Vec<u32> {
        let (mut law, mut rng) = (law(queue, gentle), Rng::stream(1, "red"));
        let (mut gaps, mut gap) = (vec![], 0);
        law.verdict(&mut rng);
        for _ in 0..100_000 {
            gap += 1;
            if law.verdict(&mut rng) == Verdict::Early {
                gaps.push(gap);
                gap = 0;
            }
        }
        gaps
    }

    #[test]
    fn gaps_between_marks_are_uniform_up_to_the_inverse_probability() {
        let gaps = gaps(10_000, false);
        // Half way up, 1 %: from 1 to 100 or 101 packets, 50.5 on average: 1980 marks.
        assert!(gaps.iter().all(|gap| (1..=101).contains(gap)));
        assert!((1920..2040).contains(&gaps.len()), "{}", gaps.len());
        let early = gaps.iter().filter(|&&gap| gap <= 25).count() * 4;
        assert!((gaps.len() * 8 / 10..gaps.len() * 12 / 10).contains(&early), "{early}");
    }

    #[test]
    fn below_min_all_pass_and_from_max_on_none_does() {
        let mut rng = Rng::stream(1, "red");
        for (queue, verdict) in [(4999, Verdict::Pass), (15_000, Verdict::Hard)] {
            let mut law = Law { count: Some(7), ..law(queue, false) };
            assert_eq!((law.verdict(&mut rng), law.count), (verdict, None));
        }
        let mut just_below = law(14_999, false);
        assert_eq!(just_below.verdict(&mut rng), Verdict::Pass);
    }

    #[test]
    fn gentle_raises_the_probability_to_one_at_twice_max() {
        // 2 % + 98 % / 2 at 1.5 times max: marked at once in 51 % of the draws, else at the second.
        let marks = gaps(22_500, true).len();
        assert!((66_000..68_200).contains(&marks), "{marks}");
        // Near max it is 2 %, of which the mean gap is 25.5.
        let marks = gaps(15_000, true).len();
        assert!((3700..4140).contains(&marks), "{marks}");
        assert_eq!(law(30_000, true).verdict(&mut Rng::stream(1, "red")), Verdict::Hard);
    }

    fn adapted(queue: u64, probability: u32) -> u32 {
        let mut law = Law { probability, ..law(queue, false) };
        law.adapt(Time::ZERO);
        law.probability
    }

    #[test]
    fn adaptation_keeps_the_average_in_the_middle_fifth() {
        let two = 2 * ONE_PERCENT;
        assert_eq!(adapted(11_001, two), two + two / 4);
        assert_eq!(adapted(11_001, 10 * ONE_PERCENT), 11 * ONE_PERCENT);
        assert_eq!(adapted(11_000, two), two);
        assert_eq!(adapted(9000, two), two);
        // 85899346 / 10 * 9.
        assert_eq!(adapted(8999, two), 77_309_406);
        assert_eq!(adapted(60_000, 50 * ONE_PERCENT + 1), 50 * ONE_PERCENT + 1);
        assert_eq!(adapted(0, ONE_PERCENT - 1), ONE_PERCENT - 1);
    }

    #[test]
    fn adaptation_does_not_touch_what_was_drawn() {
        let (mut law, mut rng) = (law(12_000, false), Rng::stream(1, "red"));
        law.draw(7001 * 8589);
        law.count = Some(0);
        law.adapt(Time::ZERO);
        // By the new probability 5600 bytes would be enough; a packet counts 7000.
        assert_eq!(law.drawn.random / law.per_byte, 5600);
        assert_eq!(law.verdict(&mut rng), Verdict::Pass);
        assert_eq!(law.verdict(&mut rng), Verdict::Early);
    }

    #[test]
    fn adaptation_sees_how_an_idle_queue_decays() {
        // After 24 cells of 8192 us, a quarter of 12000 is left: below 9000.
        let idle = Law { idle_since: Some(Time::ZERO), ..law(12_000, false) };
        let mut law = Law { probability: 2 * ONE_PERCENT, ..idle };
        law.adapt(Time::from_ns(24 * 8_192_000));
        assert_eq!((law.probability, law.per_byte), (77_309_406, 7731));
        assert_eq!(law.queue, 12_000 << 3);
    }
}
