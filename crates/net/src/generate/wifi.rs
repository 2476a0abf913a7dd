//! WiFi-like links: modulation in steps, stations that come and go, aggregates between their turns.
//!
//! No recording is at hand, so nothing here is fitted. The parts are those of IEEE 802.11-2016: the rates
//! are the eight of one HT stream in 20 MHz (table 19-27, long guard interval); the rate control looks at
//! its statistics every 60 ms, the whole steps next to the 50 ms of Linux's minstrel_ht
//! (`minstrel_ht_alloc`, net/mac80211/rc80211_minstrel_ht.c), and moves by one rung at a time; stations that
//! contend take turns of up to 4 ms, an aggregate each, which arrives as a whole at its end, with 64
//! subframes at most (section 10.13). In motion the modulation wanders over the whole ladder, and
//! roaming to another access point interrupts the link for 0.2 s and more, half a second in the mean.

use super::noise::{Spells, Wander, ONE};
use super::{Mobility, Step, STEP_MS};
use crate::rng::Rng;

/// Rates of one stream, kbit/s.
const LADDER_KBPS: [u64; 8] = [6_500, 13_000, 19_500, 26_000, 39_000, 52_000, 58_500, 65_000];
/// Subframes of an aggregate.
const SUBFRAMES_MAX: u64 = 64;
/// Airtime of one turn, ms.
const TURN_MS: u64 = 4;
/// Steps between two decisions of the rate control.
const DECISION_STEPS: usize = (60 / STEP_MS) as usize;
/// Mean time until a station comes or goes, ms.
const CONTENDER_MS: u64 = 2_000;
/// Stations that contend at most.
const CONTENDERS_MAX: u64 = 2;

/// How one form of the model is set; places on the ladder in per mille of a rung.
struct Form {
    /// Mean place on the ladder, and its deviation.
    place: i64,
    deviation: i64,
    /// Correlation time of the place, ms.
    memory_ms: u64,
    /// Mean time between roamings, ms; none at rest.
    roams_ms: Option<u64>,
}

const STATIONARY: Form = Form { place: 6_000, deviation: 600, memory_ms: 2_000, roams_ms: None };
const HIGH: Form =
    Form { place: 4_000, deviation: 2_200, memory_ms: 5_000, roams_ms: Some(15_000) };

/// The shortest and the mean interruption by roaming, ms.
const ROAM_MS: (u64, u64) = (200, 500);

/// The course, `n` steps.
pub(super) fn steps(mobility: Mobility, n: usize, rng: &mut Rng) -> Vec<Step> {
    let form = match mobility {
        Mobility::Stationary => STATIONARY,
        Mobility::High => HIGH,
    };
    let mut signal = Wander::new((form.memory_ms / STEP_MS) as i64, rng);
    let mut roams =
        form.roams_ms.map(|ms| Spells::new(ms / STEP_MS, ROAM_MS.0 / STEP_MS, ROAM_MS.1 / STEP_MS));
    let mut rung = rung_of(&form, signal.step(rng));
    let mut contenders = rng.below(CONTENDERS_MAX + 1);
    let mut course = Vec::with_capacity(n);
    for i in 0..n {
        let wanted = rung_of(&form, signal.step(rng));
        if i % DECISION_STEPS == 0 {
            rung = (rung + usize::from(wanted > rung)) - usize::from(wanted < rung);
        }
        contenders = contend(contenders, rng);
        let (is_out, ended) = match &mut roams {
            Some(roams) if i > 0 => roams.step(rng),
            _ => (false, false),
        };
        if ended {
            signal.jump(rng);
        }
        let share = LADDER_KBPS[rung] / (1 + contenders);
        course.push(Step { weight: if is_out { 0 } else { share }, contenders });
    }
    course
}

/// The rung that suits the signal.
fn rung_of(form: &Form, signal: i64) -> usize {
    let place = form.place + signal * form.deviation / ONE;
    ((place + 500) / 1_000).clamp(0, LADDER_KBPS.len() as i64 - 1) as usize
}

/// A station comes or goes now and then.
fn contend(contenders: u64, rng: &mut Rng) -> u64 {
    if rng.below(CONTENDER_MS / STEP_MS) != 0 {
        return contenders;
    }
    match rng.below(2) {
        0 => contenders.saturating_sub(1),
        _ => (contenders + 1).min(CONTENDERS_MAX),
    }
}

/// Whose turn it is.
pub(super) struct Turns {
    rng: Rng,
    /// When our next aggregate has arrived, ms.
    next_ms: u64,
}

impl Turns {
    pub(super) fn new(rng: Rng) -> Turns {
        Turns { rng, next_ms: 0 }
    }

    /// An aggregate at the end of our turn, nothing else. Each station's turn is 1 ms to `TURN_MS`.
    pub(super) fn most(&mut self, ms: u64, contenders: u64) -> u64 {
        if ms < self.next_ms {
            return 0;
        }
        let turns = (0..=contenders).map(|_| 1 + self.rng.below(TURN_MS)).sum::<u64>();
        self.next_ms = ms + turns;
        SUBFRAMES_MAX
    }
}
