//! STARTUP and DRAIN.

use crate::path::{events, samples, stays, Path};
use crate::plans::{greedy, MS};
use crate::run::run;

/// All that search for bandwidth as BBR does.
const FAMILY: [&str; 5] = ["bbr", "bbrplus", "bbr2", "bbr2plus", "bbr3"];

#[test]
fn startup_ends_on_a_plateau_and_drain_at_the_bdp() {
    let path = Path { mbps: 20, rtt_ms: 40, buffer: 1000 };
    for cca in FAMILY {
        let mut plan = path.plan(3);
        plan.sample_ns = MS;
        plan.flows.push(greedy(&plan, cca, 40 * MS));
        let ran = run(&plan);
        let stays = stays(&ran, 0);
        let (startup, drain) = (&stays[0], &stays[1]);
        assert_eq!((&*startup.state, &*drain.state), ("STARTUP", "DRAIN"), "{cca}");
        // ARP and handshake: 80 ms. From 10 segments to the BDP of 66 are 3 doublings, then
        // full_bw_cnt = 3 rounds without growth by 1.25 (draft-ietf-ccwg-bbr 5.3.1.2), lengthened by
        // the queue, of which the gain of 2.89 fills less than 2 BDP; BBRv2+ adds 2.89 times the jitter that its own
        // queue makes (Yang et al. Algorithm 3).
        let rounds = (startup.ms() - 80.0) / 40.0;
        assert!((5.0..20.0).contains(&rounds), "{cca}: STARTUP lasts {rounds} RTT");
        assert_eq!(events(&ran, 0, "loss_detected", 0.0, 3000.0), 0, "{cca}: 10 BDP of buffer");
        // It found the bandwidth: the maximum filter, never below; ACK compression adds little.
        let rows = samples(&ran, 0, drain.to, drain.to + 3.0);
        let mbps = rows[0].int("bw_bps") as f64 / 1e6;
        assert!((0.95..1.1).contains(&(mbps / path.capacity())), "{cca}: {mbps} Mbit/s");
        // DRAIN ends when what is in flight fits the BDP (draft 5.3.2): of an RTT 5 % longer here, with a
        // budget of three bursts of 2 and 2 segments, less what will be delivered before the next burst leaves
        // (bbr_packets_in_net_at_edt): 4 segments of STARTUP's burst at 0.34 of the rate are 7 ms, 12 segments.
        let in_flight = rows[0].int("in_flight") as f64;
        assert!(
            in_flight <= 1.05 * path.bdp() + 8.0 + 12.0,
            "{cca}: {in_flight} of {} segments",
            path.bdp()
        );
        // The inverse gain drains in about one round what 2/ln 2 has queued: draft 5.3.2.
        assert!((20.0..200.0).contains(&drain.ms()), "{cca}: DRAIN lasts {} ms", drain.ms());
    }
}

#[test]
fn drain_empties_the_queue_that_startup_made() {
    let path = Path { mbps: 20, rtt_ms: 40, buffer: 1000 };
    for cca in FAMILY {
        let ran = path.alone(cca, 3, |_| ());
        let drain = stays(&ran, 0)[1].clone();
        let queue = ran.table("queue");
        let backlog = |from: f64, to: f64| {
            let rows = queue.iter().filter(|r| (from..to).contains(&(r.int("t_us") as f64 / 1e3)));
            rows.map(|r| r.int("backlog_packets")).collect::<Vec<_>>()
        };
        let most = backlog(0.0, drain.from + 40.0).into_iter().max().expect("rows");
        let least = backlog(drain.to, drain.to + 100.0).into_iter().min().expect("rows");
        // Two BDP in flight at the end of STARTUP at least: one BDP queued. Then next to none: a burst.
        assert!(most as f64 > 0.7 * path.bdp(), "{cca}: STARTUP queues {most} segments");
        assert!(least <= 10, "{cca}: DRAIN leaves {least} of {most} segments");
    }
}

#[test]
fn startup_ends_by_loss_in_a_shallow_buffer_and_bounds_inflight() {
    // A fifth of a BDP: STARTUP overflows it long before three rounds without growth have passed.
    let path = Path { mbps: 100, rtt_ms: 40, buffer: 20 };
    for cca in ["bbr2", "bbr2plus", "bbr3"] {
        let by_loss = path.alone(cca, 2, |_| ());
        let by_plateau = path.alone(cca, 2, |f| {
            f.params.insert("full_loss_cnt".into(), 0);
        });
        let (loss, plateau) = (stays(&by_loss, 0)[0].clone(), stays(&by_plateau, 0)[0].clone());
        // Loss ends it (draft 5.3.1.3): at least a round sooner than the plateau alone.
        assert!(loss.to + 40.0 <= plateau.to, "{cca}: {} against {} ms", loss.to, plateau.to);
        // inflight_hi becomes the BDP or what was delivered in the round; never above BDP and buffer.
        let row = &samples(&by_loss, 0, loss.to, loss.to + 20.0)[0];
        let hi = row.get("inflight_hi").expect("a bound") as f64;
        assert!((0.8..1.25).contains(&(hi / path.bdp())), "{cca}: inflight_hi {hi}");
    }
}

#[test]
fn bbr_does_not_leave_startup_by_loss() {
    // BBRv1 has no loss exit: three rounds without growth alone end its STARTUP (Cardwell et al. 2016),
    // at least a round after those that bbr2 leaves for loss.
    let path = Path { mbps: 100, rtt_ms: 40, buffer: 20 };
    let end = |cca| stays(&path.alone(cca, 2, |_| ()), 0)[0].to;
    let (bbr, bbr2) = (end("bbr"), end("bbr2"));
    assert!(bbr >= bbr2 + 40.0, "STARTUP ends after {bbr} ms, bbr2's after {bbr2} ms");
}

#[test]
fn a_bdp_below_one_segment_is_served_with_the_least_window() {
    // 1 Mbit/s and 4 ms: a third of a segment. Draft appendix, "sub-packet BDP"; the window is at least
    // 4 segments (bbr_cwnd_min_target), which keeps the link busy and the queue at 4 segments or so.
    let path = Path { mbps: 1, rtt_ms: 4, buffer: 10_000 };
    for cca in FAMILY {
        let ran = path.alone(cca, 20, |_| ());
        let late = goodput_late(&ran);
        let rows = samples(&ran, 0, 5000.0, 20_000.0);
        let least = rows.iter().map(|r| r.int("cwnd")).min().expect("rows");
        assert!(late > 0.9 * path.capacity(), "{cca}: {late} Mbit/s");
        assert!(least >= 4, "{cca}: window {least}");
        // In flight are 4 to 10 segments (2 bursts of 2, 3 of quantisation), 12 ms each.
        let queue = ran.summary.link.queue_mean_ms;
        assert!(queue < 121.0, "{cca}: {queue} ms queued");
    }
}

fn goodput_late(ran: &crate::run::Ran) -> f64 {
    crate::path::goodput(ran, 0, 5000.0, 20_000.0)
}
