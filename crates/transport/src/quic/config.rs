//! How the ends of a connection are set.

use super::cut::Cut;
use units::Span;

/// Settings of both ends of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Tick that the controllers count in, 1/s; timers of the transport itself are exact.
    pub hz: u32,
    /// Stream data in a full packet, bytes (Zhang: 1400).
    pub payload: u32,
    /// What the application writes at once, bytes; 0: everything. A packet never carries parts of two writes (Zhang:
    /// 3000, so that of three packets one carries 200).
    pub write: u32,
    /// What counts one in windows, flights, deliveries and losses, bytes of stream data; 0: a packet. With it packets
    /// of different sizes count as what they carry, as the segments of a buffer do in TCP: a controller that counts
    /// bytes (Zhang's BBRv2) can be written for segments.
    pub part: u32,
    /// Window at the start, packets or parts (RFC 9002 section 7.2).
    pub initial_window: u32,
    /// What one of a window stands for, bytes; 0: a packet. Chromium's code counts windows in bytes and
    /// moves them by 1460, whatever packets carry (`kDefaultTCPMSS`), so that with Zhang's packets of
    /// 1011 bytes a window of one lets 1.4 out. Controllers that set the window themselves
    /// (`cong_control`) mean packets.
    pub window_unit: u32,
    /// Packets that may leave unpaced when nothing is in flight (RFC 9002 section 7.7: at most the
    /// initial window).
    pub burst: u32,
    /// Window-based controllers are paced too, at 1.25 windows per smoothed RTT (RFC 9002 section 7.7).
    pub pacing: bool,
    /// RTT assumed until there is a sample (RFC 9002 section 6.2.2; Zhang: 100 ms).
    pub initial_rtt: Span,
    /// That RTT is told as the first sample, so that no longer one is ever the minimum (Zhang's `DqcSender::Bind`).
    pub initial_sample: bool,
    /// The connection starts with one round trip of Initial packets; otherwise data goes first (0-RTT).
    pub handshake: bool,
    /// Packets are sent with ECT(0).
    pub ecn: bool,
    /// Packets that are acknowledged together (RFC 9000 section 13.2.2: 2; Zhang: 1).
    pub ack_every: u32,
    /// Longest wait of an acknowledgement (RFC 9000 section 18.2).
    pub max_ack_delay: Span,
    /// Packet numbers and offsets take as few bytes as they need, as in Zhang's framer; otherwise four.
    pub compact: bool,
    /// A packet is lost when one sent this many later was acknowledged (RFC 9002 section 6.1.1).
    pub packet_threshold: u32,
    /// The thresholds of loss detection grow with each loss that proves spurious. RFC 9002 leaves it open (sections
    /// 6.1.1 and 6.1.2); the scheme is google/quiche's.
    pub adaptive_thresholds: bool,
    /// A reduction is undone when every loss that it answered proves spurious. Not in RFC 9002,
    /// which leaves it open; `undo_cwnd` of the controllers exists for it.
    pub undo: bool,
    /// What the sender's clock counts in; zero: it is exact. Zhang's has whole milliseconds (`DqcSimuClock`): RTTs
    /// and rates are measured in them, and the pacer lets go what is due within one (Chromium's
    /// `alarm_granularity_`).
    pub clock: Span,
    /// When in a tick of the clock its alarms go off: Zhang's senders share a processor, which polls them in turn.
    pub clock_offset: Span,
    /// Time between two polls; zero: none. A polled sender sends and runs its alarms only then, one packet each time
    /// and one more when the pacer's alarm goes off (`DqcSender::Process`: 500 us).
    pub poll: Span,
    /// Minimum retransmission timeout, instead of probes; zero: probes (RFC 9002 section 6.2). Zhang's
    /// sender has one of 200 ms (`kMinRetransmissionTimeMs`).
    pub rto_min: Span,
    /// A sample's sending rate counts what was sent, lost packets included, and not what was delivered of it; samples
    /// shorter than the minimum RTT count (`BandwidthSampler` of Chromium).
    pub counts_sent: bool,
    /// Window-based controllers leave a reduction by proportional rate reduction and are paced twice as fast as their
    /// window in slow start, as in Chromium; otherwise the window falls at once.
    pub prr: bool,
}

impl Default for Config {
    /// The RFCs' recommendations, with Zhang's payload.
    fn default() -> Self {
        Config {
            hz: 1000,
            payload: 1000,
            write: 0,
            part: 0,
            initial_window: 10,
            window_unit: 0,
            burst: 10,
            pacing: true,
            initial_rtt: Span::from_ms(333),
            initial_sample: false,
            handshake: true,
            ecn: false,
            ack_every: 2,
            max_ack_delay: Span::from_ms(25),
            compact: false,
            packet_threshold: 3,
            adaptive_thresholds: false,
            undo: true,
            clock: Span::ZERO,
            clock_offset: Span::ZERO,
            poll: Span::ZERO,
            rto_min: Span::ZERO,
            counts_sent: false,
            prr: false,
        }
    }
}

impl Config {
    /// How the stream is cut into segments.
    pub fn cut(&self) -> Cut {
        Cut::new(self.payload, self.write).in_parts(self.part)
    }

    /// Header and STREAM frame of a packet, bytes; those of most compact packets of minutes.
    pub fn frame_bytes(&self) -> u64 {
        if self.compact {
            net::quic::COMPACT_FRAME_BYTES
        } else {
            net::quic::FRAME_BYTES
        }
    }

    /// As in Zhang's simulations: every packet is acknowledged, no handshake, 100 ms assumed at first, any gap is a
    /// loss, a clock of milliseconds, a retransmission timeout.
    pub fn zhang() -> Config {
        Config {
            ack_every: 1,
            handshake: false,
            initial_rtt: Span::from_ms(100),
            window_unit: 1460,
            undo: false,
            packet_threshold: 1,
            clock: Span::from_ms(1),
            rto_min: Span::from_ms(200),
            counts_sent: true,
            prr: true,
            ..Config::default()
        }
    }
}
