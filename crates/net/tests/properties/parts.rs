//! Steps, and the parts that hold packets.

use net::delay::{Distribution, Jitter, JitterPipe};
use net::impair::{AckThinning, Aggregation, Filled, Periodic, Release, ThinningConfig};
use net::qdisc::Outcome;
use net::rng::Rng;
use net::schedule::{Schedule, Steps};
use net::{Ack, TcpAck};
use proptest::prelude::*;
use units::{Rate, Span, Time};

fn steps() -> impl Strategy<Value = (Vec<(u64, u64)>, Option<u64>)> {
    let at = prop_oneof![5 => 0_u64..1_000, 1 => any::<u64>()];
    let steps = prop::collection::vec((at, 0_u64..1_000), 0..8).prop_map(|mut steps| {
        if steps.len() > 2 {
            steps.sort_unstable();
            steps[0].0 = 0;
        }
        steps
    });
    (steps, prop::option::of(prop_oneof![0_u64..2_000, any::<u64>()]))
}

proptest! {
    #[test]
    fn any_steps_are_refused_or_hold_at_any_time((steps, period) in steps(), at: u64) {
        let times = steps.iter().map(|&(ns, value)| (Time::from_ns(ns), value)).collect();
        let Ok(course) = Steps::new(times, period.map(Span::from_ns)) else { return Ok(()) };
        let offset = period.map_or(at, |p| at % p);
        let expected = steps.iter().rev().find(|s| s.0 <= offset).expect("the first is at zero");
        let (value, end) = course.at(Time::from_ns(at));
        prop_assert_eq!(value, expected.1);
        prop_assert!(end > Time::from_ns(at) || end == Time::NEVER);
    }

    #[test]
    fn what_a_schedule_lets_out_takes_as_long_as_it_says(
        (steps, period) in steps(),
        from in 0_u64..5_000,
        bits in 0_u64..100_000,
    ) {
        let times = steps.iter().map(|&(ns, bps)| (Time::from_ns(ns), Rate::from_bps(bps)));
        let Ok(course) = Steps::new(times.collect(), period.map(Span::from_ns)) else {
            return Ok(());
        };
        prop_assume!(!Schedule::is_endless_outage(&course));
        let schedule = Schedule::from_steps(course);
        let (from, amount) = (Time::from_ns(from), u128::from(bits));
        let until = schedule.after(from, amount);
        prop_assume!(until.is_set());
        prop_assert!(schedule.bit_ns(from, until) >= amount);
        let before = Time::from_ns(until.as_ns().saturating_sub(1));
        prop_assert!(until == from || schedule.bit_ns(from, before) < amount);
    }

    #[test]
    fn a_pipe_gives_back_what_was_put_in_and_in_order_if_told(
        gaps in prop::collection::vec(0_u64..5_000_000, 1..60),
        kind in 0_usize..5,
        spread in 0_u64..20_000_000,
        reorder: bool,
        seed: u64,
    ) {
        let distribution = [
            Distribution::Uniform,
            Distribution::Gaussian,
            Distribution::NormalTable,
            Distribution::Pareto,
            Distribution::ParetoNormal,
        ][kind];
        let jitter = Jitter { distribution, spread: Span::from_ns(spread), reorder, correlation: 0 };
        let rng = Rng::stream(seed, "test");
        let mut pipe = JitterPipe::new(Span::from_ms(10), jitter, rng);
        let mut now = Time::ZERO;
        for (i, &gap) in gaps.iter().enumerate() {
            now += Span::from_ns(gap);
            pipe.push(now, i);
        }
        let mut out: Vec<usize> = std::iter::from_fn(|| pipe.pop(Time::NEVER)).collect();
        prop_assert!(reorder || out.is_sorted());
        out.sort_unstable();
        prop_assert_eq!(out, (0..gaps.len()).collect::<Vec<_>>());
    }

    #[test]
    fn bursts_keep_order_and_lose_nothing(
        gaps in prop::collection::vec(0_u64..5_000_000, 1..80),
        packets in 1_u32..10,
        ms in 1_u64..20,
        is_periodic: bool,
    ) {
        let release = match is_periodic {
            true => Release::Periodic(Periodic { every: Span::from_ms(ms), packets: Some(packets) }),
            false => Release::Filled(Filled { packets, hold: Span::from_ms(ms) }),
        };
        let mut part = Aggregation::new(release);
        let (mut now, mut out) = (Time::ZERO, Vec::new());
        for (i, &gap) in gaps.iter().enumerate() {
            now += Span::from_ns(gap);
            while let Some(at) = part.next_wakeup().filter(|&at| at <= now) {
                out.push(part.pop(at.max(now)).expect("it said so"));
            }
            part.push(now, i);
        }
        while let Some(at) = part.next_wakeup() {
            out.push(part.pop(at).expect("it said so"));
        }
        prop_assert_eq!(out, (0..gaps.len()).collect::<Vec<_>>());
    }

    #[test]
    fn thinning_never_loses_the_newest_acknowledgement_of_a_flow(
        acks in prop::collection::vec((0_u64..4_000_000, 0_u32..3, 0_u32..4, any::<bool>()), 1..80),
        every in 1_u32..6,
    ) {
        let mut part = AckThinning::new(ThinningConfig { every, hold: Span::from_ms(3) });
        let mut outcome = Outcome::default();
        let (mut now, mut out, mut newest) = (Time::ZERO, Vec::new(), [0_u32; 3]);
        let count = acks.len();
        for (gap, flow, more, ece) in acks {
            now += Span::from_ns(gap);
            newest[flow as usize] += more;
            let tcp = TcpAck { ack: newest[flow as usize], ece, ..TcpAck::default() };
            part.push(now, Ack { flow, ..tcp.into() }, &mut outcome);
            out.extend(std::iter::from_fn(|| part.pop(now)));
        }
        out.extend(std::iter::from_fn(|| part.pop(Time::NEVER)));
        prop_assert_eq!(out.len() + outcome.drops.len(), count);
        for flow in 0..3 {
            let passed = out.iter().filter(|a| a.flow == flow).map(|a| a.tcp().ack);
            let passed: Vec<u32> = passed.collect();
            prop_assert!(passed.is_sorted());
            prop_assert_eq!(passed.last().copied().unwrap_or(0), newest[flow as usize]);
        }
    }
}
