//! What the receiver tells of itself.

/// Counters since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReceiverStats {
    /// Payload bytes handed to the application.
    pub delivered_bytes: u64,
    /// Data segments that arrived.
    pub packets: u64,
    /// Data segments that PAWS dropped.
    pub paws_rejected: u64,
    /// Acknowledgements sent.
    pub acks_sent: u64,
    /// Segments that arrived CE-marked.
    pub ce_packets: u64,
    /// Segments that came out of order.
    pub out_of_order: u64,
}

/// What `tcp_info` tells of the receiving half.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverInfo {
    /// What the application has read, bytes.
    pub read_bytes: u64,
    /// Estimated time until the next data, us (`tcpi_ato`).
    pub ato_us: u64,
    /// Estimate of the sender's segments, bytes (`tcpi_rcv_mss`).
    pub segment_bytes: u32,
    /// Largest window that is offered by now, bytes (`tcpi_rcv_ssthresh`).
    pub window_limit_bytes: u64,
    /// The window offered last, bytes (`tcpi_rcv_wnd`).
    pub window_bytes: u64,
    /// What was read in the RTT that counts for the buffer, bytes (`tcpi_rcv_space`).
    pub space_bytes: u64,
    /// RTT by the sender's echoes, us (`tcpi_rcv_rtt`).
    pub rtt_us: u64,
    /// Segments that came out of order (`tcpi_rcv_ooopack`).
    pub out_of_order: u64,
}
