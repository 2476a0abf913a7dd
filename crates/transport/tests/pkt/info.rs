//! What assertions can ask: the `tcp_info` fields that the model has, in the kernel's units
//! (`tcp_get_info`, net/ipv4/tcp.c), and a few counters of our own without the prefix.

use transport::tcp::{Receiver, Sender};

/// Names that `assert` takes.
pub const FIELDS: [&str; 43] = [
    "tcpi_ca_state",
    "tcpi_retransmits",
    "tcpi_backoff",
    "tcpi_rto",
    "tcpi_unacked",
    "tcpi_sacked",
    "tcpi_lost",
    "tcpi_retrans",
    "tcpi_total_retrans",
    "tcpi_rtt",
    "tcpi_rttvar",
    "tcpi_snd_ssthresh",
    "tcpi_snd_cwnd",
    "tcpi_reordering",
    "tcpi_reord_seen",
    "tcpi_snd_mss",
    "tcpi_pacing_rate",
    "tcpi_delivered",
    "tcpi_delivered_ce",
    "tcpi_min_rtt",
    "tcpi_data_segs_out",
    "tcpi_snd_wnd",
    "tcpi_delivery_rate",
    "tcpi_delivery_rate_app_limited",
    "is_cwnd_limited",
    "max_packets_out",
    "recoveries",
    "rtos",
    "tlps",
    "undos",
    "delivered_bytes",
    "acks_sent",
    "paws_rejected",
    "read_bytes",
    "tcpi_ato",
    "tcpi_rcv_mss",
    "tcpi_rcv_ssthresh",
    "tcpi_rcv_wnd",
    "tcpi_rcv_space",
    "tcpi_rcv_rtt",
    "tcpi_rcv_ooopack",
    "tcpi_data_segs_in",
    "tcpi_bytes_received",
];

/// Value of a field of the sender; `None` for one that only a receiver has.
pub fn of_sender(sender: &Sender, name: &str) -> Option<i64> {
    let (sk, stats) = (&*sender.sk, sender.stats());
    let value = match name {
        "tcpi_ca_state" => i64::from(sk.icsk_ca_state),
        "tcpi_retransmits" => i64::from(sk.icsk_retransmits),
        "tcpi_backoff" => i64::from(sk.icsk_backoff),
        "tcpi_rto" => i64::from(sk.icsk_rto) * 1_000_000 / i64::from(sk.hz),
        "tcpi_unacked" => i64::from(sk.packets_out),
        "tcpi_sacked" => i64::from(sk.sacked_out),
        "tcpi_lost" => i64::from(sk.lost_out),
        "tcpi_retrans" => i64::from(sk.retrans_out),
        "tcpi_total_retrans" => i64::from(sk.total_retrans),
        "tcpi_rtt" => i64::from(sk.srtt_us >> 3),
        "tcpi_rttvar" => i64::from(sk.mdev_us >> 2),
        "tcpi_snd_ssthresh" => i64::from(sk.snd_ssthresh),
        "tcpi_snd_cwnd" => i64::from(sk.snd_cwnd),
        "tcpi_reordering" => i64::from(sk.reordering),
        "tcpi_reord_seen" => i64::from(sk.reord_seen),
        "tcpi_snd_mss" => i64::from(sk.mss_cache),
        "tcpi_pacing_rate" => i64::try_from(sk.sk_pacing_rate).unwrap_or(i64::MAX),
        "tcpi_delivered" => i64::from(sk.delivered),
        "tcpi_delivered_ce" => i64::from(sk.delivered_ce),
        "tcpi_min_rtt" => i64::from(sk.rtt_min.value()),
        "tcpi_data_segs_out" => i64::from(sk.data_segs_out),
        "tcpi_snd_wnd" => i64::from(sk.snd_wnd),
        "tcpi_delivery_rate" => delivery_rate(sk),
        "tcpi_delivery_rate_app_limited" => i64::from(sk.rate_app_limited),
        "is_cwnd_limited" => i64::from(sk.is_cwnd_limited),
        "max_packets_out" => i64::from(sk.max_packets_out),
        "recoveries" => i64::from(stats.recoveries),
        "rtos" => i64::from(stats.rtos),
        "tlps" => i64::from(stats.tlps),
        "undos" => i64::from(stats.undos),
        _ => return None,
    };
    Some(value)
}

/// Payload bytes per second of the last good sample (`tcp_compute_delivery_rate`); 0 before the first.
fn delivery_rate(sk: &cca::TcpSock) -> i64 {
    let bytes = i64::from(sk.rate_delivered) * i64::from(sk.mss_cache);
    bytes * 1_000_000 / i64::from(sk.rate_interval_us.max(1))
}

/// Value of a field of the receiver; `None` for one that only a sender has.
pub fn of_receiver(receiver: &Receiver, name: &str) -> Option<i64> {
    let (stats, info) = (receiver.stats(), receiver.info());
    let value = match name {
        "delivered_bytes" | "tcpi_bytes_received" => stats.delivered_bytes,
        "tcpi_data_segs_in" => stats.packets,
        "read_bytes" => info.read_bytes,
        "tcpi_ato" => info.ato_us,
        "tcpi_rcv_mss" => info.segment_bytes.into(),
        "tcpi_rcv_ssthresh" => info.window_limit_bytes,
        "tcpi_rcv_wnd" => info.window_bytes,
        "tcpi_rcv_space" => info.space_bytes,
        "tcpi_rcv_rtt" => info.rtt_us,
        "tcpi_rcv_ooopack" => info.out_of_order,
        "acks_sent" => stats.acks_sent,
        "paws_rejected" => stats.paws_rejected,
        _ => return None,
    };
    Some(value as i64)
}
