//! Data both ways: acknowledgements wait behind data, and what that does to the flows.

use crate::plans::{greedy, plain, MS, S};
use crate::run::{run, Ran};
use serde_json::json;
use sim::plan::{Direction, Flow, Plan, Probe};

/// A path with the same link both ways; the caller adds flows.
fn symmetric(rate_bps: u64, limit_bytes: u64, duration_ns: u64) -> Plan {
    let mut plan = plain(rate_bps, limit_bytes, duration_ns);
    plan.host.arp = false;
    plan.links[0].name = "bottleneck".into();
    plan.ack_links = plan.links.clone();
    plan.ack_links[0].name = "up".into();
    plan
}

/// A flow without end that goes this way; what it sends and what answers it cross the links of both ways.
fn flow(plan: &Plan, cca: &str, rtt_ns: u64, direction: Direction) -> Flow {
    let mut flow = greedy(plan, cca, rtt_ns);
    let stages = |text| serde_json::from_value(text).expect("stages");
    let down = json!([{"kind": "delay", "ns": rtt_ns / 2}, {"kind": "link", "link": 0}]);
    let up = json!([{"kind": "link", "link": 0}, {"kind": "delay", "ns": rtt_ns / 2}]);
    let (forward, back) = if direction == Direction::Up { (up, down) } else { (down, up) };
    (flow.direction, flow.forward, flow.back) = (direction, stages(forward), stages(back));
    flow
}

fn with(mut plan: Plan, cca: &str, rtt_ns: u64, directions: &[Direction]) -> Plan {
    plan.flows = directions.iter().map(|&one| flow(&plan, cca, rtt_ns, one)).collect();
    plan
}

fn goodput(ran: &Ran, i: usize) -> f64 {
    ran.summary.flows[i].goodput_mbps
}

/// Times between acknowledgements that reach the senders of a capture, by flow, ns.
fn ack_gaps(ran: &Ran, flow: u8) -> Vec<u64> {
    let bytes = &ran.bytes()["trace.pcap"];
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let (mut at, mut times) = (24, Vec::new());
    while at < bytes.len() {
        let time = u64::from(word(at)) * S + u64::from(word(at + 4));
        let ip = at + 16 + 14;
        // Receivers have the addresses 10.128.0.0/9.
        if bytes[ip + 13] & 128 != 0 && bytes[ip + 19] == flow + 1 {
            times.push(time);
        }
        at += 16 + word(at + 8) as usize;
    }
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn a_flow_that_goes_up_is_one_that_goes_down_on_the_other_way() {
    let plan = symmetric(20_000_000, 50_000, 10 * S);
    let down = run(&with(plan.clone(), "cubic", 20 * MS, &[Direction::Down]));
    let up = run(&with(plan, "cubic", 20 * MS, &[Direction::Up]));
    let (link, other) = (&up.summary.link, &up.summary.links[0]);
    assert!(other.utilization > 0.9 && link.utilization < 0.1, "{link:?} {other:?}");
    // Half the RTT lies before the bottleneck for one and after it for the other: the same round trips.
    let (one, two) = (goodput(&down, 0), goodput(&up, 0));
    assert!((one / two - 1.0).abs() < 0.01, "{one} {two}");
    let drops = |ran: &Ran| ran.table("flows")[0].int("queue_drops");
    assert!(drops(&up) > 0 && drops(&down) > 0);
}

/// Zhang, Shenker and Clark (SIGCOMM 1991): acknowledgements that have waited in a queue behind data leave it at the
/// rate at which acknowledgements are sent, and both directions lose utilisation.
#[test]
fn acknowledgements_are_compressed_by_data_that_go_their_way() {
    let mut plan = symmetric(10_000_000, 30_280, 60 * S);
    (plan.host.delayed_ack, plan.record.pcap) = (false, true);
    let one = run(&with(plan.clone(), "reno", 40 * MS, &[Direction::Down]));
    let two = run(&with(plan, "reno", 40 * MS, &[Direction::Down, Direction::Up]));
    // Data of 1514 bytes are 1.2 ms apart, acknowledgements of 66 bytes in a row 53 us.
    let close = |ran: &Ran, flow| {
        let gaps = ack_gaps(ran, flow);
        gaps.iter().filter(|&&gap| gap < 300_000).count() as f64 / gaps.len() as f64
    };
    assert!(close(&one, 0) < 0.02, "alone {}", close(&one, 0));
    for flow in [0, 1] {
        assert!(close(&two, flow) > 0.1, "both ways, flow {flow}: {}", close(&two, flow));
    }
    let carried = |ran: &Ran, i| goodput(ran, i) / 10.0;
    assert!(
        carried(&two, 0) < carried(&one, 0) - 0.05,
        "{} {}",
        carried(&two, 0),
        carried(&one, 0)
    );
    assert!(
        carried(&two, 1) < carried(&one, 0) - 0.05,
        "{} {}",
        carried(&two, 1),
        carried(&one, 0)
    );
}

/// An acknowledgement of 66 bytes for two segments of 1448: with a queue that loses none of them, the way up bounds
/// what goes down to (its rate / 66) x 2 x 1448 bytes.
#[test]
fn the_rate_of_acknowledgements_bounds_what_goes_down() {
    let mut plan = symmetric(50_000_000, 10_000_000, 30 * S);
    plan.host.rcvbuf_bytes = 8_000_000;
    // Nagle's rule leaves one short segment in flight where the receive window ends; without it they become more.
    plan.host.nodelay = false;
    plan.ack_links[0].rate_bps = 500_000;
    let ran = run(&with(plan, "reno", 20 * MS, &[Direction::Down]));
    // Once the window no longer grows.
    let rows = ran.table("samples");
    let at = |s: i64| rows.iter().find(|row| row.int("t_us") == s * 1_000_000).expect("a sample");
    let mbps = (at(29).int("goodput_bytes") - at(19).int("goodput_bytes")) as f64 * 8.0 / 10e6;
    let bound = 0.5 / 66.0 * 2.0 * 1448.0;
    assert!((mbps / bound - 1.0).abs() < 0.01, "{mbps} of {bound}");
}

/// Two segments of data for each acknowledgement that they wait behind: the filter leaves one acknowledgement a flow in
/// the queue, so that what goes down is not starved by what goes up 50 times slower.
#[test]
fn cakes_filter_frees_the_way_up() {
    let cake = |ack_filter: &str| {
        let mut plan = symmetric(50_000_000, 200_000, 20 * S);
        plan.ack_links[0].rate_bps = 1_000_000;
        let cake = json!({"kind": "cake", "bandwidth_bps": 1_000_000, "ack_filter": ack_filter});
        plan.ack_links[0].qdisc = serde_json::from_value(cake).expect("cake");
        let ran = run(&with(plan, "cubic", 20 * MS, &[Direction::Down, Direction::Up]));
        (goodput(&ran, 0), goodput(&ran, 1))
    };
    let (off, on) = (cake("off"), cake("on"));
    assert!(on.0 > 1.15 * off.0 && on.0 > 40.0, "down {} without, {} with the filter", off.0, on.0);
    assert!(on.1 > off.1, "up {} without, {} with the filter", off.1, on.1);
}

/// A series of probes that goes this way, every 10 ms.
fn probe(plan: &Plan, rtt_ns: u64, direction: Direction) -> Probe {
    let flow = flow(plan, "reno", rtt_ns, direction);
    let json = json!({
        "name": "probe", "rtt_ns": rtt_ns, "forward": flow.forward, "back": flow.back, "start_ns": 0,
        "stop_ns": plan.duration_ns, "every_ns": 10 * MS,
    });
    Probe { direction, ..serde_json::from_value(json).expect("probes") }
}

/// Alone, a probe takes the RTT and 98 bytes at the rate of each link; its burst is free.
#[test]
fn a_probe_takes_the_round_trip_and_waits_as_data_do() {
    let mut plan = symmetric(10_000_000, 125_000, 20 * S);
    plan.probes =
        vec![probe(&plan, 40 * MS, Direction::Up), probe(&plan, 40 * MS, Direction::Down)];
    plan = with(plan, "cubic", 40 * MS, &[Direction::Down, Direction::Up]);
    for flow in &mut plan.flows {
        flow.start_ns = 10 * S;
    }
    let ran = run(&plan);
    let rows = ran.table("probes");
    for series in [0, 1] {
        let mine: Vec<_> = rows.iter().filter(|row| row.int("probe") == series).collect();
        // One each 10 ms; those that the end meets on their way, at most 245 ms long, have no row.
        assert!((1_975..2_000).contains(&mine.len()), "{} rows", mine.len());
        let idle: Vec<i64> = mine[..990].iter().filter_map(|row| row.get("rtt_us")).collect();
        assert_eq!(idle.len(), 990);
        assert!(idle.iter().all(|&rtt| (40_000..=40_200).contains(&rtt)), "{:?}", &idle[..9]);
        // Both queues of 100 ms are at least half full most of the time, and drop some probes.
        let busy: Vec<i64> = mine[1_500..].iter().filter_map(|row| row.get("rtt_us")).collect();
        let mean = busy.iter().sum::<i64>() / busy.len() as i64;
        assert!((100_000..=245_000).contains(&mean), "{mean}");
    }
}

#[test]
fn probes_change_no_draw_of_flows_and_repeat() {
    let mut plan = symmetric(10_000_000, 50_000, 5 * S);
    plan.probes = vec![probe(&plan, 20 * MS, Direction::Up)];
    let plan = with(plan, "bbr", 20 * MS, &[Direction::Down, Direction::Up]);
    let (one, two) = (run(&plan).bytes(), run(&plan).bytes());
    assert!(one.contains_key("probes.parquet") && one == two);
}

#[test]
fn queues_of_both_ways_have_rows_and_figures() {
    let plan = symmetric(10_000_000, 50_000, 5 * S);
    let ran = run(&with(plan, "cubic", 20 * MS, &[Direction::Down, Direction::Up]));
    let rows = ran.table("queue");
    for link in [0, 1] {
        let mine = rows.iter().filter(|row| row.int("link") == link);
        assert!(mine.map(|row| row.int("sent_bytes")).max() > Some(4_000_000), "link {link}");
    }
    let marked = |i: usize| ran.summary.links.len() == 1 && ran.summary.flows[i].goodput_mbps > 5.0;
    assert!(marked(0) && marked(1));
    // Drops that are recorded are those of data, on the way that these take.
    let flows = ran.table("flows");
    for (i, flow) in flows.iter().enumerate() {
        let mut told = 0;
        for row in ran.table("events") {
            if row.text("kind") == "drop_queue" && row.get("flow") == Some(i as i64) {
                told += row.int("value");
            }
        }
        assert_eq!(told, flow.int("queue_drops"), "flow {i}");
    }
}
