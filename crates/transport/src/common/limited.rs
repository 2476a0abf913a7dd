//! What a sender waits for.

/// What limits a sender: why it sends nothing more at present. Where several do, the first of this list counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitedBy {
    /// Loss recovery: fast retransmission, or after a timeout.
    Recovery,
    /// Everything that was written is sent, and nothing waits to be written.
    Application,
    /// As much is in flight as the congestion window takes; or TCP waits until it takes a larger burst.
    Cwnd,
    /// Everything that was written is sent, and the application waits for room in the send buffer.
    SendBuffer,
    /// The receive window takes no more.
    ReceiveWindow,
    /// The next packet is not due yet.
    Pacing,
    /// The host holds as much of this socket as it may (TCP small queues), without pacing it.
    HostQueue,
}
