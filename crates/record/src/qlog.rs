//! A run as qlog: what senders sent, received, took for lost, and thought of the path.
//!
//! The file is a sequence of JSON texts (RFC 7464): a header, then an event each
//! (draft-ietf-quic-qlog-main-schema, `urn:ietf:params:qlog:file:sequential`; draft-ietf-quic-qlog-quic-events). All
//! flows are in one trace; `group_id` tells them apart. The events of TCP flows have the names of QUIC's and say
//! `"protocol_types": ["TCP"]`, because there is no schema for TCP that readers know.

use crate::RecordError;
use serde::Serialize;
use std::fs::File;
use std::io::{BufWriter, Error, Write};
use std::path::{Path, PathBuf};

/// Separates records (RFC 7464).
const RECORD_SEPARATOR: u8 = 0x1e;
/// The schema of all events.
pub const EVENT_SCHEMA: &str = "urn:ietf:params:qlog:events:quic-12";

/// What happened; each variant is the `name` and `data` of an event.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "name", content = "data")]
pub enum QlogEvent<'a> {
    /// A QUIC packet left the sender.
    #[serde(rename = "quic:packet_sent")]
    PacketSent(QlogPacket),
    /// A QUIC packet reached the sender.
    #[serde(rename = "quic:packet_received")]
    PacketReceived(QlogPacket),
    /// Packets were acknowledged for the first time.
    #[serde(rename = "quic:packets_acked")]
    PacketsAcked { packet_number_space: &'a str, packet_numbers: &'a [u64] },
    /// A packet was taken for lost; of TCP without a header, because its segments are no packets with a number.
    #[serde(rename = "quic:packet_lost")]
    PacketLost {
        #[serde(skip_serializing_if = "Option::is_none")]
        header: Option<QlogHeader>,
        #[serde(skip_serializing_if = "Option::is_none")]
        trigger: Option<&'static str>,
    },
    /// What changed of the sender's estimates and window.
    #[serde(rename = "quic:recovery_metrics_updated")]
    MetricsUpdated(QlogMetrics),
    /// The congestion controller's state, or that of recovery.
    #[serde(rename = "quic:congestion_state_updated")]
    CongestionStateUpdated {
        #[serde(skip_serializing_if = "Option::is_none")]
        old: Option<&'a str>,
        new: &'a str,
    },
}

/// Header of a packet.
#[derive(Clone, Debug, Serialize)]
pub struct QlogHeader {
    /// `initial`, `handshake` or `1RTT`.
    pub packet_type: &'static str,
    /// The model numbers data packets only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_number: Option<u64>,
}

/// A packet with its frames.
#[derive(Clone, Debug, Serialize)]
pub struct QlogPacket {
    /// Its header.
    pub header: QlogHeader,
    /// Its size.
    pub raw: QlogRaw,
    /// What it carries.
    pub frames: Vec<QlogFrame>,
}

/// Length of a packet or a frame.
#[derive(Clone, Debug, Serialize)]
pub struct QlogRaw {
    /// All of it, without UDP, IP and Ethernet, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// What it carries, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_length: Option<u64>,
}

/// A frame.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "frame_type", rename_all = "snake_case")]
pub enum QlogFrame {
    /// Fills an Initial packet.
    Padding,
    /// Asks for an acknowledgement.
    Ping,
    /// Data of the handshake.
    Crypto { offset: u64, raw: QlogRaw },
    /// The server has confirmed the handshake.
    HandshakeDone,
    /// Another one, of this type.
    Unknown { frame_type_bytes: u64 },
    /// Data of the stream.
    Stream {
        stream_id: u64,
        offset: u64,
        raw: QlogRaw,
        #[serde(skip_serializing_if = "Option::is_none")]
        fin: Option<bool>,
    },
    /// An acknowledgement. `acked_ranges` is left out where the simplified QUIC has several: it does not send them.
    Ack {
        ack_delay: f64,
        #[serde(skip_serializing_if = "Option::is_none")]
        acked_ranges: Option<Vec<[u64; 2]>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        ect0: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        ect1: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        ce: Option<u64>,
    },
}

/// Estimates and window; times in ms, sizes in bytes. Those that did not change are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct QlogMetrics {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoothed_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_variance: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pto_count: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_in_flight: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssthresh: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets_in_flight: Option<u64>,
    /// Bits per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing_rate: Option<u64>,
}

impl QlogMetrics {
    /// What differs from `before`; `None` where nothing does.
    #[must_use]
    pub fn since(&self, before: &QlogMetrics) -> Option<QlogMetrics> {
        fn changed<T: PartialEq + Copy>(now: Option<T>, before: Option<T>) -> Option<T> {
            now.filter(|_| now != before)
        }
        let made = QlogMetrics {
            min_rtt: changed(self.min_rtt, before.min_rtt),
            smoothed_rtt: changed(self.smoothed_rtt, before.smoothed_rtt),
            latest_rtt: changed(self.latest_rtt, before.latest_rtt),
            rtt_variance: changed(self.rtt_variance, before.rtt_variance),
            pto_count: changed(self.pto_count, before.pto_count),
            congestion_window: changed(self.congestion_window, before.congestion_window),
            bytes_in_flight: changed(self.bytes_in_flight, before.bytes_in_flight),
            ssthresh: changed(self.ssthresh, before.ssthresh),
            packets_in_flight: changed(self.packets_in_flight, before.packets_in_flight),
            pacing_rate: changed(self.pacing_rate, before.pacing_rate),
        };
        (made != QlogMetrics::default()).then_some(made)
    }
}

/// An event with its time and flow.
#[derive(Serialize)]
struct Record<'a> {
    /// ms since the start of the run.
    time: f64,
    #[serde(flatten)]
    event: &'a QlogEvent<'a>,
    group_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol_types: Option<[&'static str; 1]>,
}

/// A qlog file on its way.
pub struct QlogWriter {
    path: PathBuf,
    file: BufWriter<File>,
    failed: Option<Error>,
}

impl QlogWriter {
    /// Creates the file and writes its header; `flows` says what each group is.
    ///
    /// # Errors
    /// [`RecordError::Io`] when the file cannot be created.
    pub fn create(path: &Path, title: &str, flows: &str) -> Result<QlogWriter, RecordError> {
        let file = File::create(path)
            .map_err(|source| RecordError::Io { path: path.to_path_buf(), source })?;
        let file = BufWriter::with_capacity(1 << 20, file);
        let mut made = QlogWriter { path: path.to_path_buf(), file, failed: None };
        made.record(&serde_json::json!({
            "file_schema": "urn:ietf:params:qlog:file:sequential",
            "serialization_format": "application/qlog+json-seq",
            "title": title,
            "trace": {
                "title": title,
                "description": flows,
                "common_fields": {
                    "time_format": "relative_to_epoch",
                    "reference_time": { "clock_type": "monotonic", "epoch": "unknown" },
                },
                "vantage_point": { "name": "senders", "type": "server" },
                "event_schemas": [EVENT_SCHEMA],
            },
        }));
        Ok(made)
    }

    /// Appends an event of a flow, seen at `t_ns` nanoseconds after the start of the run. Never fails; see the crate's
    /// contracts.
    pub fn write(&mut self, t_ns: u64, group_id: &str, is_tcp: bool, event: &QlogEvent<'_>) {
        let protocol_types = is_tcp.then_some(["TCP"]);
        self.record(&Record { time: t_ns as f64 / 1e6, event, group_id, protocol_types });
    }

    fn record(&mut self, record: &impl Serialize) {
        if self.failed.is_some() {
            return;
        }
        let file = &mut self.file;
        let written = file.write_all(&[RECORD_SEPARATOR]).and_then(|()| {
            serde_json::to_writer(&mut *file, record).map_err(Error::from)?;
            file.write_all(b"\n")
        });
        self.failed = written.err();
    }

    /// Writes what is still buffered and closes the file.
    ///
    /// # Errors
    /// The first error since the file was created.
    pub fn finish(mut self) -> Result<(), RecordError> {
        let flushed = match self.failed.take() {
            Some(error) => Err(error),
            None => self.file.flush(),
        };
        flushed.map_err(|source| RecordError::Io { path: self.path, source })
    }
}
