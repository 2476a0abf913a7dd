//! What real hosts are set to for a plan, and how iperf3 makes its flows: the same for every back end that has real
//! hosts, wherever these are.

use crate::plan::{Ecn, Host, Plan, Traffic};

/// Receive buffer before any tuning, and at most, where the plan sets none: as in the simulator.
const RCVBUF_LARGE: (u64, u64) = (16 << 20, 1 << 30);
/// Linux's own (`tcp_rmem[1]`, `tcp_wmem[1]`), bytes.
const RCVBUF_DEFAULT: u64 = 131_072;
const SNDBUF_DEFAULT: u64 = 16_384;
/// Send buffer at most where the plan sets none, bytes.
const SNDBUF_LARGE: u64 = 1 << 30;

/// Kernel parameters of senders and receivers.
pub fn sysctls(host: &Host) -> [(&'static str, String); 5] {
    let (rcv, rcv_most) = match host.rcvbuf_bytes {
        0 => RCVBUF_LARGE,
        most => (most.min(RCVBUF_DEFAULT), most),
    };
    let snd_most = if host.sndbuf_bytes == 0 { SNDBUF_LARGE } else { host.sndbuf_bytes };
    let ecn = match host.ecn {
        // Connections do not ask, but an answer to those that must have it.
        Ecn::Off => "2",
        Ecn::Classic => "1",
        Ecn::Accurate => "3",
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
