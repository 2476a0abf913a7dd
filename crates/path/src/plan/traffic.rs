//! The programs that make the flows on real hosts, and what of their ways the simulator's applications
//! take over.

use serde::{Deserialize, Serialize};

/// Bytes that iperf3 sends ahead of its data on each connection, to say which test it belongs to
/// (`COOKIE_SIZE` in its source).
const COOKIE_BYTES: u64 = 37;
/// iperf3's own length of a write.
const WRITE_BYTES: u64 = 131_072;

/// A program that sends and one that receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Traffic {
    /// In the simulator a sender that writes as soon as the connection is open and a receiver that reads
    /// 32 kB at a time; on real hosts iperf3.
    #[default]
    Auto,
    /// iperf3: it greets, and writes when the server has answered that; the server reads what there is.
    Iperf3,
    /// Zeros through OpenBSD's netcat, which reads what there is.
    Netcat,
}

impl Traffic {
    /// Bytes that open a connection and must be answered before the transfer begins; 0: it begins at once.
    pub fn greeting_bytes(self) -> u64 {
        match self {
            Traffic::Iperf3 => COOKIE_BYTES,
            Traffic::Auto | Traffic::Netcat => 0,
        }
    }

    /// Rounds `size` up to whole writes: bytes in total, and bytes per write.
    pub fn writes(size: u64) -> (u64, u64) {
        let count = size.div_ceil(WRITE_BYTES);
        (size, size.div_ceil(count))
    }

    /// Bytes that the sender writes at a time, of a transfer of `size` bytes or of one without end.
    pub fn write_bytes(self, size: Option<u64>) -> u64 {
        match self {
            Traffic::Auto => 2 * WRITE_BYTES,
            Traffic::Iperf3 => size.map_or(WRITE_BYTES, |size| Traffic::writes(size).1),
            Traffic::Netcat => WRITE_BYTES / 8,
        }
    }

    /// Payload of a finite transfer as its connection carries it, without the greeting.
    pub fn transfer_bytes(self, size: u64) -> u64 {
        match self {
            Traffic::Auto | Traffic::Netcat => size,
            Traffic::Iperf3 => {
                let (size, length) = Traffic::writes(size);
                size.div_ceil(length) * length
            }
        }
    }

    /// All payload of the connection of a finite transfer.
    pub fn connection_bytes(self, size: u64) -> u64 {
        self.transfer_bytes(size) + self.greeting_bytes()
    }

    /// The program that real hosts run.
    pub fn program(self) -> Traffic {
        if self == Traffic::Auto {
            Traffic::Iperf3
        } else {
            self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_writes_exceed_the_size_by_less_than_one_byte_each() {
        for size in [1u64, 1_000, 131_072, 131_073, 1_000_000, 123_456_789] {
            let count = size.div_ceil(WRITE_BYTES);
            let sent = Traffic::Iperf3.transfer_bytes(size);
            assert!((size..size + count).contains(&sent), "{size}: {sent}");
        }
    }

    #[test]
    fn a_transfer_of_iperf3_is_written_in_pieces_of_the_same_length() {
        // 77 times, which is 67 bytes more than 10 MB.
        assert_eq!(Traffic::Iperf3.write_bytes(Some(10_000_000)), 129_871);
        assert_eq!(Traffic::Iperf3.write_bytes(None), 131_072);
        assert_eq!(Traffic::Netcat.write_bytes(Some(10_000_000)), 16_384);
    }
}
