//! What real hosts are set to for a plan, and how iperf3 makes its flows: the same for every back end that has real
//! hosts, wherever these are.

use path::memory;
use path::plan::{EcnMode, Plan, Traffic};

/// Linux's own (`tcp_wmem[1]`), bytes.
const SNDBUF_DEFAULT: u64 = 16_384;
/// Controllers with `TCP_CONG_NEEDS_ECN`, Linux's and ours.
const NEED_ECN: [&str; 2] = ["dctcp", "prague"];

/// Kernel parameters of senders and receivers.
pub fn sysctls(plan: &Plan) -> [(&'static str, String); 5] {
    let host = &plan.host;
    let limits = memory::limits(plan);
    let (rcv, rcv_most) = (host.rcvbuf_initial_bytes(), limits.rcvbuf_of(host));
    let snd_most = limits.sndbuf_of(host);
    let ecn = match host.ecn {
        // Connections that ask do so by their own way to the receiver.
        _ if does_ecn_differ(plan) => "2",
        // Connections do not ask, but an answer to those that must have it.
        EcnMode::Off => "2",
        EcnMode::Classic => "1",
        EcnMode::Accurate => "3",
    };
    let restart = u8::from(host.slow_start_after_idle).to_string();
    [
        ("net.ipv4.tcp_rmem", format!("4096 {rcv} {rcv_most}")),
        ("net.ipv4.tcp_wmem", format!("4096 {} {snd_most}", snd_most.min(SNDBUF_DEFAULT))),
        ("net.ipv4.tcp_no_metrics_save", "1".into()),
        ("net.ipv4.tcp_ecn", ecn.into()),
        ("net.ipv4.tcp_slow_start_after_idle", restart),
    ]
}

/// Whether a flow negotiates ECN otherwise than the plan's hosts.
fn does_ecn_differ(plan: &Plan) -> bool {
    plan.flows.iter().any(|flow| flow.host.ecn.is_some_and(|ecn| ecn != plan.host.ecn))
}

/// Whether a flow's route to its receiver asks for ECN (`features ecn`); none does where all flows agree.
pub fn asks_for_ecn(plan: &Plan, i: usize) -> bool {
    plan.host_of(i).ecn == EcnMode::Classic && does_ecn_differ(plan)
}

/// Whether a controller needs ECN at both ends of its connections (`TCP_CONG_NEEDS_ECN`): its SYN is ECN-capable.
pub fn needs_ecn(cca: &str) -> bool {
    NEED_ECN.contains(&cca)
}

/// Where a flow goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ends {
    pub source: String,
    pub target: String,
    pub server_port: u16,
    /// The sender's, of the connection with the data.
    pub data_port: u16,
}

/// Arguments of iperf3 at the sender of a flow; `cca` is the kernel's name of its controller.
pub fn iperf3_client(plan: &Plan, i: usize, ends: &Ends, cca: &str) -> Vec<String> {
    let flow = &plan.flows[i];
    let mut words: Vec<String> = ["-J", "-i", "0"].map(String::from).into();
    let mut add = |key: &str, value: String| words.extend([key.into(), value]);
    add("-c", ends.target.clone());
    add("-p", ends.server_port.to_string());
    add("-B", ends.source.clone());
    add("--cport", ends.data_port.to_string());
    add("-C", cca.into());
    match flow.size_bytes {
        Some(size) => {
            let (size, length) = Traffic::writes(size);
            add("-n", size.to_string());
            add("-l", length.to_string());
        }
        // It is stopped when it is time; this is longer.
        None => add("-t", ((flow.stop_ns - flow.start_ns) / 1_000_000_000 + 60).to_string()),
    }
    if let Some(rate) = flow.max_rate_bps {
        add("--fq-rate", rate.to_string());
    }
    if plan.host.nodelay {
        words.push("-N".into());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(rate_bps: u64, rtt_ns: u64, limit_bytes: u64, sndbuf_bytes: u64) -> Plan {
        let text = format!(
            r#"{{"name": "x", "seed": 1, "duration_ns": 2000000000, "sample_ns": 100000000,
            "links": [{{"rate_bps": {rate_bps}, "burst_bytes": 3028,
                "qdisc": {{"kind": "fifo", "limit_bytes": {limit_bytes}, "limit_packets": null}}}}],
            "host": {{"hz": 1000, "qdisc": "pfifo", "tso": true, "gro": false, "ecn": "off", "rcvbuf_bytes": 0,
                "sndbuf_bytes": {sndbuf_bytes}, "delayed_ack": true}},
            "flows": [{{"cca": "cubic", "params": {{}}, "rtt_ns": {rtt_ns},
                "forward": [{{"kind": "link", "link": 0}}], "back": [],
                "start_ns": 0, "stop_ns": 2000000000, "size_bytes": null, "max_rate_bps": null}}],
            "record": {{"samples": true, "queue": true, "events": true, "pcap": false}}}}"#
        );
        Plan::parse(&text).expect("a plan")
    }

    fn most(plan: &Plan) -> [u64; 2] {
        let all = sysctls(plan);
        ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"].map(|wanted| {
            let (_, value) = all.iter().find(|(name, _)| *name == wanted).expect("is set");
            let words: Vec<u64> =
                value.split(' ').map(|word| word.parse().expect("a number")).collect();
            assert!(words[0] <= words[1] && words[1] <= words[2], "{value}");
            words[2]
        })
    }

    #[test]
    fn buffers_are_limited_to_what_the_path_needs() {
        // 50 Mbit/s over 20 ms and 4 BDP of queue hold 625 kB.
        assert_eq!(most(&plan(50_000_000, 20_000_000, 500_000, 0)), [32 << 20, 16 * 625_000]);
        // 1 Gbit/s over 100 ms and as much of queue.
        let large = 16 * (12_500_000 + 12_500_000);
        assert_eq!(most(&plan(1_000_000_000, 100_000_000, 12_500_000, 0)), [large, large]);
        assert_eq!(most(&plan(1_000_000, 1_000_000, 10_000, 0)), [32 << 20, 4 << 20]);
        let unlimited = plan(1_000_000_000_000, 1_000_000_000, 10_000, 0);
        assert_eq!(most(&unlimited), [1 << 30, 1 << 30]);
        assert_eq!(most(&plan(50_000_000, 20_000_000, 500_000, 100_000)), [32 << 20, 100_000]);
    }
}
