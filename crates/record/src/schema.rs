//! The rows of the tables. This file is the only place where a column is written down; the
//! reference in `docs/results.md` is generated from it.

use crate::table;

/// States of TCP's loss recovery, as events name them, in the order of `enum tcp_ca_state` (include/net/tcp.h).
pub const CA_STATES: [&str; 5] = ["Open", "Disorder", "CWR", "Recovery", "Loss"];

/// What a controller reports of itself; none: it does not report that, or has no value yet. `S` is the name of a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Estimates<S = &'static str> {
    /// State that it is in.
    pub state: Option<S>,
    /// Bottleneck bandwidth, payload bit/s.
    pub bw_bps: Option<u64>,
    /// Propagation round-trip time, us.
    pub min_rtt_us: Option<u32>,
    /// Pacing gain, 1/256.
    pub pacing_gain: Option<u32>,
    /// Window gain, 1/256.
    pub cwnd_gain: Option<u32>,
    /// Short-term bound on inflight, segments.
    pub inflight_lo: Option<u32>,
    /// Long-term bound on inflight, segments.
    pub inflight_hi: Option<u32>,
}

/// What limits a flow: the text in the column `limit`, and its meaning. Where several limits hold, the first here counts.
pub const LIMITS: [(&str, &str); 7] = [
    ("recovery", "TCP is in the state Recovery or Loss: what was lost is sent again"),
    ("application", "all that was written is sent, but for less than a segment"),
    ("cwnd", "the congestion window is full, or TCP waits until it takes a larger burst"),
    (
        "send_buffer",
        "all that was written is sent, and the application waits for room in the send buffer",
    ),
    ("receive_window", "the receive window takes no more"),
    ("pacing", "the next packet is not due yet"),
    ("host_queue", "the host holds as much of an unpaced socket as it may (TCP small queues)"),
];

/// Something that happened at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    Start,
    Established,
    Stop,
    Complete,
    CaState,
    CcaState,
    LossDetected,
    Rto,
    Tlp,
    Undo,
    DropQueue,
    DropRandom,
    EcnMark,
    Retransmit,
}

impl EventKind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [EventKind; 14] = [
        EventKind::Start,
        EventKind::Established,
        EventKind::Stop,
        EventKind::Complete,
        EventKind::CaState,
        EventKind::CcaState,
        EventKind::LossDetected,
        EventKind::Retransmit,
        EventKind::Rto,
        EventKind::Tlp,
        EventKind::Undo,
        EventKind::DropQueue,
        EventKind::DropRandom,
        EventKind::EcnMark,
    ];

    /// The text in the column `kind`.
    pub const fn as_str(self) -> &'static str {
        self.text().0
    }

    /// What it means, and what `value` and `note` hold.
    pub const fn doc(self) -> &'static str {
        self.text().1
    }

    const fn text(self) -> (&'static str, &'static str) {
        match self {
            EventKind::Start => ("start", "the application opens the connection (SYN)"),
            EventKind::Established => ("established", "the sender has the SYN-ACK"),
            EventKind::Stop => ("stop", "the application stops sending"),
            EventKind::Complete => {
                ("complete", "a finite transfer has arrived whole; value: its bytes")
            }
            EventKind::CaState => {
                ("ca_state", "TCP enters the state in note: Open, Disorder, CWR, Recovery, Loss")
            }
            EventKind::CcaState => ("cca_state", "the controller enters its state in note"),
            EventKind::LossDetected => {
                ("loss_detected", "segments are marked lost; value: how many")
            }
            EventKind::Retransmit => ("retransmit", "segments are sent again; value: how many"),
            EventKind::Rto => ("rto", "the retransmission timer fires; value: timeouts in a row"),
            EventKind::Tlp => ("tlp", "a tail loss probe is sent"),
            EventKind::Undo => ("undo", "a reduction is taken back; value: the window restored"),
            EventKind::DropQueue => ("drop_queue", "a queue drops; value: packets"),
            EventKind::DropRandom => ("drop_random", "random loss drops; value: packets"),
            EventKind::EcnMark => ("ecn_mark", "a queue marks CE; value: packets"),
        }
    }
}

table! {
    /// One row a flow.
    FlowRow, FlowColumns = "flows" {
        /// Number of the flow, in the order of the scenario, from 0.
        flow: i32 ["-"],
        /// Name of the flow: that of its `[[flow]]` table, which all flows of the table share.
        name: String ["-"],
        /// Number of its `[[flow]]` table, from 0.
        table: i32 ["-"],
        /// What carries it: `tcp`, `quic`, `quinn` or `udp`.
        transport: String ["-"],
        /// Name of the congestion controller; empty of udp.
        cca: String ["-"],
        /// Two-way propagation delay of the flow's path, without queueing; at the start where it changes in steps, the mean where it is recorded.
        rtt_us: i64 ["us"],
        /// When the application opened the connection.
        start_us: i64 ["us"],
        /// When the flow ended: completion, its stop time, or the end of the run.
        stop_us: i64 ["us"],
        /// When the sender had the SYN-ACK; null if it never did.
        established_us: Option<i64> ["us"],
        /// When the last byte of a finite transfer, or of all responses of a count, had reached the receiver; null if it is not finite or not complete.
        completed_us: Option<i64> ["us"],
        /// Size of a finite transfer; null for one without an end.
        size_bytes: Option<i64> ["bytes"],
        /// Payload that the receiving application got, each byte once; without the 37 bytes with which iperf3 opens a connection.
        goodput_bytes: i64 ["bytes"],
        /// Data segments sent, retransmissions included.
        segs_sent: i64 ["segments"],
        /// Data segments sent again; null of udp, as all that a sender learns from acknowledgements. On real hosts, but for those of `--on uml`, the kernel counts SYNs among them, and among `rtos`.
        retrans_segs: Option<i64> ["segments"],
        /// Payload sent, retransmissions included; of quinn its datagrams, with the headers of QUIC.
        bytes_sent: i64 ["bytes"],
        /// Segments known to be delivered (Linux's `tp->delivered`, which on real hosts counts the SYN, too); of udp the datagrams that arrived.
        delivered_segs: i64 ["segments"],
        /// Segments marked lost (Linux `tp->lost`); those marked wrongly count.
        lost_segs: Option<i64> ["segments"],
        /// Packets of the flow that queues dropped.
        queue_drops: i64 ["packets"],
        /// Packets of the flow that random loss took.
        random_drops: i64 ["packets"],
        /// Times that fast recovery was entered.
        recoveries: Option<i64> ["-"],
        /// Retransmission timeouts.
        rtos: Option<i64> ["-"],
        /// Tail loss probes.
        tlps: Option<i64> ["-"],
        /// Reductions taken back because the loss was none.
        undos: Option<i64> ["-"],
        /// Pure acknowledgements that the receiver sent, requests not counted, until the flow's stop.
        acks_sent: Option<i64> ["segments"],
        /// Smallest round-trip time that the sender measured, on real hosts within the kernel's window (300 s); null before the first sample.
        min_rtt_us: Option<i64> ["us"],
        /// Packets of the flow that queues marked CE.
        ecn_marks: i64 ["packets"],
        /// Of `queue_drops`, those that an AQM decided on; the others found a limit reached.
        aqm_drops: i64 ["packets"],
        /// Of `queue_drops`, those that a policer refused.
        policed_drops: i64 ["packets"],
        /// Packets of the flow that arrived corrupted.
        damaged: i64 ["packets"],
        /// Packets of the flow that the path duplicated.
        duplicated: i64 ["packets"],
        /// Mean time from the sender's interface to the receiver; null when nothing arrived.
        owd_mean_us: Option<i64> ["us"],
        /// Its median, to 1.6 %.
        owd_p50_us: Option<i64> ["us"],
        /// Its 95th percentile, to 1.6 %.
        owd_p95_us: Option<i64> ["us"],
        /// Its 99th percentile, to 1.6 %.
        owd_p99_us: Option<i64> ["us"],
    }
}

table! {
    /// One row per flow and sample time, from the flow's start to its end.
    SampleRow, SampleColumns = "samples" {
        /// Time since the start of the run.
        t_us: i64 ["us"],
        /// Number of the flow.
        flow: i32 ["-"],
        /// Payload that the receiving application has got so far.
        goodput_bytes: i64 ["bytes"],
        /// Goodput over the interval since the previous sample.
        goodput_bps: i64 ["bit/s"],
        /// Congestion window; null of udp, as all that a sender learns from acknowledgements.
        cwnd: Option<i64> ["segments"],
        /// Slow-start threshold; null while it is infinite.
        ssthresh: Option<i64> ["segments"],
        /// Pacing rate; null when the flow is not paced.
        pacing_bps: Option<i64> ["bit/s"],
        /// Smoothed round-trip time; null before the first sample.
        srtt_us: Option<i64> ["us"],
        /// Last round-trip time measured; null before the first sample.
        rtt_us: Option<i64> ["us"],
        /// Smallest round-trip time in TCP's own window, the last 300 s; null before the first sample.
        min_rtt_us: Option<i64> ["us"],
        /// Segments in flight as TCP counts them: out - (sacked + lost) + retransmitted.
        in_flight: Option<i64> ["segments"],
        /// Segments between `snd_una` and `snd_nxt`.
        packets_out: Option<i64> ["segments"],
        /// Of these, acknowledged selectively.
        sacked: Option<i64> ["segments"],
        /// Of these, marked lost.
        lost: Option<i64> ["segments"],
        /// Retransmissions in flight.
        retrans_out: Option<i64> ["segments"],
        /// Segments known to be delivered, so far; of udp the datagrams that arrived.
        delivered: i64 ["segments"],
        /// Segments marked lost, so far.
        lost_total: Option<i64> ["segments"],
        /// Segments sent again, so far.
        retrans_total: Option<i64> ["segments"],
        /// Data segments sent, so far, retransmissions included.
        segs_sent: i64 ["segments"],
        /// Last delivery-rate sample; null before the first.
        delivery_rate_bps: Option<i64> ["bit/s"],
        /// State of TCP: 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss.
        ca_state: Option<i32> ["-"],
        /// State of the controller as it names it; empty when it has none.
        cca_state: &'static str ["-"],
        /// The controller's estimate of the bottleneck bandwidth; null when it makes none.
        bw_bps: Option<i64> ["bit/s"],
        /// The controller's estimate of the propagation delay; null when it makes none.
        cca_min_rtt_us: Option<i64> ["us"],
        /// Pacing gain; null when the controller has none.
        pacing_gain: Option<f64> ["ratio"],
        /// Window gain; null when the controller has none.
        cwnd_gain: Option<f64> ["ratio"],
        /// Short-term bound on the data in flight; null when unset.
        inflight_lo: Option<i64> ["segments"],
        /// Long-term bound on the data in flight; null when unset.
        inflight_hi: Option<i64> ["segments"],
    }
}

table! {
    /// One row per sample time and link, and one at the end of the run (real hosts have no such row, but for `--on uml`): its queue.
    QueueRow, QueueColumns = "queue" {
        /// Time since the start of the run.
        t_us: i64 ["us"],
        /// Number of the link; 0 is the bottleneck of `path`.
        link: i32 ["-"],
        /// Wire bytes waiting.
        backlog_bytes: i64 ["bytes"],
        /// Packets waiting.
        backlog_packets: i64 ["packets"],
        /// How long the packet at the head of the queue has waited; 0 when the queue is empty.
        sojourn_us: i64 ["us"],
        /// Wire bytes that have left the queue, so far.
        sent_bytes: i64 ["bytes"],
        /// Packets that have left the queue, so far.
        sent_packets: i64 ["packets"],
        /// Packets dropped, so far.
        dropped_packets: i64 ["packets"],
        /// Wire bytes dropped, so far.
        dropped_bytes: i64 ["bytes"],
        /// Packets marked CE, so far.
        marked_packets: i64 ["packets"],
        /// `sojourn_us` integrated over time, so far: its growth over the time between two rows is the mean queueing delay there, whatever happened between them. Null where a kernel has the queue.
        sojourn_integral_us2: Option<i64> ["us us"],
    }
}

table! {
    /// One row an event, in the order in which they happened.
    EventRow, EventColumns = "events" {
        /// Time since the start of the run.
        t_ns: i64 ["ns"],
        /// Number of the flow; null when the event belongs to none.
        flow: Option<i32> ["-"],
        /// What happened; see the list of kinds below.
        kind: EventKind ["-"],
        /// A number that belongs to the event; see the list of kinds below.
        value: Option<i64> ["-"],
        /// A word that belongs to the event; see the list of kinds below.
        note: Option<&'static str> ["-"],
    }
}

table! {
    /// One row per message of an application that writes in pieces, in the order of flows and writes.
    MessageRow, MessageColumns = "messages" {
        /// Number of the flow.
        flow: i32 ["-"],
        /// When it was asked for; without a request, when it was written.
        asked_us: i64 ["us"],
        /// When the application wrote it.
        written_us: i64 ["us"],
        /// Its payload.
        bytes: i64 ["bytes"],
        /// When the last of it had arrived in order; null if it had not at the end.
        completed_us: Option<i64> ["us"],
    }
}

table! {
    /// One row per probe, in the order of series and probes; only of runs with probes. One that the run's end met on its
    /// way there or back has none: whether it would have been lost is not known.
    ProbeRow, ProbeColumns = "probes" {
        /// Number of the series.
        probe: i32 ["-"],
        /// When it was sent.
        sent_us: i64 ["us"],
        /// Time until it reached the other end; null if it did not.
        there_us: Option<i64> ["us"],
        /// Time until its answer was back; null if it was not.
        rtt_us: Option<i64> ["us"],
    }
}

table! {
    /// One row per variable of a controller and change of it, and one for each of a flow's variables at each of its `cca_state` events; only of runs with `[record] variables = true`. A flow's last row of a name holds until its end.
    VariableRow, VariableColumns = "variables" {
        /// Time since the start of the run.
        t_ns: i64 ["ns"],
        /// Number of the flow.
        flow: i32 ["-"],
        /// Name of the variable, as the controller's source declares it.
        name: &'static str ["-"],
        /// Its value in `unit`; the number of `word` where it has words; null when it is not set.
        value: Option<i64> ["-"],
        /// Unit of the value; `bool` is 0 or 1, `-` a number of things without one.
        unit: &'static str ["-"],
        /// The value as a word; null for variables that are numbers.
        word: Option<&'static str> ["-"],
    }
}

table! {
    /// One row per change of what limits a flow, from when it is established; only of runs with `[record] limits = true`, of flows over TCP and the simplified QUIC. A limit holds until the flow's next row, the last one until its end.
    LimitRow, LimitColumns = "limits" {
        /// Time since the start of the run.
        t_ns: i64 ["ns"],
        /// Number of the flow.
        flow: i32 ["-"],
        /// What limits it; see the list below.
        limit: &'static str ["-"],
    }
}
