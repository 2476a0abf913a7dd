//! The data that the application has supplied, and the state of its connection.

/// Data that the application has supplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Segments; `u32::MAX` for a greedy flow.
    pub segments: u32,
    /// Payload of the last of them, bytes.
    pub last_len: u32,
}

impl Stream {
    /// Nothing yet: the application writes in pieces ([`crate::tcp::Sender::supply`]).
    pub const EMPTY: Stream = Stream { segments: 0, last_len: 0 };
    /// A transfer without end.
    pub const GREEDY: Stream = Stream { segments: u32::MAX, last_len: 0 };

    /// All of it, bytes of segments of `mss`; `u64::MAX`: without end.
    pub fn bytes(self, mss: u32) -> u64 {
        match self.segments {
            0 => 0,
            u32::MAX => u64::MAX,
            n => u64::from(n - 1) * u64::from(mss) + u64::from(self.last_len),
        }
    }

    /// A transfer of `bytes` (at least 1) in segments of `mss`.
    pub fn of_bytes(bytes: u64, mss: u32) -> Stream {
        assert!(bytes > 0, "a finite transfer has at least one byte");
        let segments = bytes.div_ceil(u64::from(mss));
        assert!(
            segments < u64::from(u32::MAX),
            "a flow is limited to 2^32 segments, got {bytes} B"
        );
        let last = bytes - (segments - 1) * u64::from(mss);
        Stream { segments: segments as u32, last_len: last as u32 }
    }
}

/// State of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conn {
    /// Not started.
    Closed,
    /// SYN or Initial packet sent.
    SynSent,
    /// Data may flow.
    Established,
    /// Closed by the application; nothing is sent any more.
    Stopped,
}
