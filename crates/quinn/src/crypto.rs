//! A crypto session without secrets: keys that change nothing, and a handshake of TLS's shape.
//!
//! Virtual time has no eavesdropper, and secrets would need random numbers. What shapes traffic is kept: the levels
//! of encryption, one flight in each, tags of 16 bytes, and messages as long as those of TLS 1.3 with one certificate.
//!
//! ```text
//!   client                                       server
//!   Initial:   hello, transport parameters ->
//!                                            <-  Initial: hello;  Handshake: transport parameters, finished
//!   Handshake: finished                     ->
//! ```

use bytes::BytesMut;
use quinn_proto::crypto::{
    AeadKey, ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey,
    HmacKey, KeyPair, Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};
use std::any::Any;
use std::sync::Arc;

/// Authentication tag of AES-GCM and ChaCha20-Poly1305, bytes.
pub(crate) const TAG_LEN: usize = 16;
/// Sample of header protection, bytes (RFC 9001 section 5.4.2).
const SAMPLE_LEN: usize = 16;
/// Most transport parameters in bytes; a message is at least this long.
const HELLO_LEN: usize = 300;
/// A server's certificate and its signature (two ECDSA certificates), bytes.
const CERTIFICATE_LEN: usize = 900;
/// A Finished message, bytes.
const FINISHED_LEN: usize = 36;
/// Transport parameters with numbers 31 n + 27 say nothing (RFC 9000 section 18.1).
const RESERVED: (u64, u64) = (31, 27);

/// What is to be written next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Client: the hello.
    Hello,
    /// Client: the server's hello has not come.
    AwaitHello,
    /// The peer's last message has not come, with how much of it did.
    AwaitFinished {
        got: usize,
    },
    /// Server: the hello of the client has not come.
    AwaitClient,
    /// Server: its hello, and keys of the handshake.
    ServerHello,
    /// Server: its parameters, and keys of the data.
    ServerFinished,
    /// Client: its last message, and keys of the data.
    ClientFinished,
    Done,
}

/// One side of a handshake.
pub struct NullSession {
    side: Side,
    step: Step,
    parameters: Vec<u8>,
    heard: Vec<u8>,
    peer: Option<TransportParameters>,
}

/// Sessions of both sides, tokens and reset keys.
#[derive(Debug)]
pub struct Null;

impl NullSession {
    fn new(side: Side, parameters: &TransportParameters) -> Box<NullSession> {
        let step = if side.is_client() { Step::Hello } else { Step::AwaitClient };
        let parameters = without_reserved(parameters);
        Box::new(NullSession { side, step, parameters, heard: Vec::new(), peer: None })
    }

    /// A message that has the parameters: their length, they, and what else is in such a message.
    fn write_parameters(&self, buf: &mut Vec<u8>, more: usize) {
        let len = self.parameters.len();
        buf.extend_from_slice(&(len as u16).to_be_bytes());
        buf.extend_from_slice(&self.parameters);
        buf.resize(buf.len() + HELLO_LEN.saturating_sub(len) + more, 0);
    }

    /// The peer's parameters, once the message is complete.
    fn read_parameters(&mut self, len: usize) -> Result<bool, TransportError> {
        if self.heard.len() < len {
            return Ok(false);
        }
        let size = usize::from(u16::from_be_bytes([self.heard[0], self.heard[1]]));
        let parameters = TransportParameters::read(self.side, &mut &self.heard[2..2 + size]);
        self.peer = Some(parameters?);
        Ok(true)
    }

    /// Length of the message with the peer's parameters; 2 before that is known.
    fn message_len(&self, more: usize) -> usize {
        let Some(head) = self.heard.first_chunk::<2>() else { return 2 };
        2 + usize::from(u16::from_be_bytes(*head)).max(HELLO_LEN) + more
    }
}

/// quinn adds a parameter of random number and length that the peer must ignore, drawn from the machine's entropy: it
/// would change the length of the handshake from run to run.
fn without_reserved(parameters: &TransportParameters) -> Vec<u8> {
    let mut all = Vec::new();
    parameters.write(&mut all);
    let (mut rest, mut kept) = (&all[..], Vec::with_capacity(all.len()));
    while !rest.is_empty() {
        let (number, head) = varint(rest);
        let (len, len_bytes) = varint(&rest[head..]);
        let (parameter, after) = rest.split_at(head + len_bytes + len as usize);
        if number % RESERVED.0 != RESERVED.1 {
            kept.extend_from_slice(parameter);
        }
        rest = after;
    }
    kept
}

/// A number of variable length (RFC 9000 section 16), and its length.
fn varint(bytes: &[u8]) -> (u64, usize) {
    let len = 1 << (bytes[0] >> 6);
    let value =
        bytes[1..len].iter().fold(u64::from(bytes[0] & 0x3f), |v, &b| v << 8 | u64::from(b));
    (value, len)
}

impl Session for NullSession {
    fn initial_keys(&self, _dst_cid: &ConnectionId, _side: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        self.step != Step::Done
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.heard.extend_from_slice(buf);
        match self.step {
            Step::AwaitClient => {
                if self.read_parameters(self.message_len(0))? {
                    self.step = Step::ServerHello;
                }
            }
            Step::AwaitHello => {
                if self.heard.len() >= FINISHED_LEN {
                    self.heard.drain(..FINISHED_LEN);
                    self.step = Step::AwaitFinished { got: 0 };
                }
            }
            Step::AwaitFinished { got } => {
                if self.side.is_server() {
                    let got = got + buf.len();
                    self.step =
                        if got >= FINISHED_LEN { Step::Done } else { Step::AwaitFinished { got } };
                } else if self.read_parameters(self.message_len(CERTIFICATE_LEN))? {
                    self.step = Step::ClientFinished;
                }
            }
            Step::Hello
            | Step::ServerHello
            | Step::ServerFinished
            | Step::ClientFinished
            | Step::Done => {}
        }
        Ok(false)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        match self.step {
            Step::Hello => {
                self.write_parameters(buf, 0);
                self.step = Step::AwaitHello;
                None
            }
            Step::ServerHello => {
                buf.resize(FINISHED_LEN, 0);
                self.step = Step::ServerFinished;
                Some(keys())
            }
            Step::ServerFinished => {
                self.write_parameters(buf, CERTIFICATE_LEN);
                self.step = Step::AwaitFinished { got: 0 };
                Some(keys())
            }
            // The server's hello is here: the keys of its next message.
            Step::AwaitFinished { got: 0 } if !self.side.is_server() && self.peer.is_none() => {
                self.step = Step::AwaitFinished { got: 1 };
                Some(keys())
            }
            Step::ClientFinished => {
                buf.resize(FINISHED_LEN, 0);
                self.step = Step::Done;
                Some(keys())
            }
            Step::AwaitHello | Step::AwaitFinished { .. } | Step::AwaitClient | Step::Done => None,
        }
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(keys().packet)
    }

    fn is_valid_retry(&self, _orig_dst_cid: &ConnectionId, _header: &[u8], _: &[u8]) -> bool {
        false
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        _label: &[u8],
        _context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        output.fill(0);
        Ok(())
    }
}

fn keys() -> Keys {
    Keys {
        header: KeyPair { local: Box::new(Null), remote: Box::new(Null) },
        packet: KeyPair { local: Box::new(Null), remote: Box::new(Null) },
    }
}

impl PacketKey for Null {
    /// quinn has made room for the tag; it stays 0.
    fn encrypt(&self, _packet: u64, _buf: &mut [u8], _header_len: usize) {}

    fn decrypt(
        &self,
        _packet: u64,
        _header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        let len = payload.len().checked_sub(TAG_LEN).ok_or(CryptoError)?;
        payload.truncate(len);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG_LEN
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HeaderKey for Null {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        SAMPLE_LEN
    }
}

impl ClientConfig for Null {
    fn start_session(
        self: Arc<Self>,
        _version: u32,
        _server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(NullSession::new(Side::Client, params))
    }
}

impl ServerConfig for Null {
    fn initial_keys(&self, _: u32, _dst_cid: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _version: u32, _orig_dst_cid: &ConnectionId, _packet: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(
        self: Arc<Self>,
        _version: u32,
        params: &TransportParameters,
    ) -> Box<dyn Session> {
        NullSession::new(Side::Server, params)
    }
}

/// Reset tokens: those of different connection IDs differ, as quinn asks.
impl HmacKey for Null {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        signature_out.fill(0xa5);
        let len = data.len().min(signature_out.len());
        signature_out[..len].copy_from_slice(&data[..len]);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut made = vec![0; self.signature_len()];
        self.sign(data, &mut made);
        (made == signature).then_some(()).ok_or(CryptoError)
    }
}

/// Tokens are neither asked for nor sent.
impl HandshakeTokenKey for Null {
    fn aead_from_hkdf(&self, _random_bytes: &[u8]) -> Box<dyn AeadKey> {
        Box::new(Null)
    }
}

impl AeadKey for Null {
    fn seal(&self, _data: &mut Vec<u8>, _additional_data: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }

    fn open<'a>(&self, data: &'a mut [u8], _: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        Ok(data)
    }
}
