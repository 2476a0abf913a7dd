//! The sending end of a connection: the client, which sends one stream.

use crate::clock::Clock;
use crate::config::{self, Cca, Config};
use crate::host::{Host, Outgoing};
use crate::watch::{Seen, Watch};
use bytes::Bytes;
use quinn_cca::{Observer, Pacing, View};
use quinn_proto::{ClientConfig, ConnectionStats, Dir, StreamId};
use std::time::Duration;
use units::{Span, Time};

/// What an endless stream has waiting at least, bytes: far more than leaves at once.
const AHEAD: u64 = 1 << 22;
/// Stream data is written in pieces of this, all of them the same zeros, bytes.
const PIECE: usize = 1 << 20;
/// quinn paces at this many windows per smoothed RTT, in quarters.
const WINDOWS_PER_RTT_QUARTERS: u64 = 5;

/// What the application writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// This many bytes more.
    Bytes(u64),
    /// There is always more.
    Greedy,
    /// Nothing more will come.
    Close,
}

/// What happened at the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    Established,
    /// Packets were declared lost.
    Lost(u32),
    /// Persistent congestion.
    Collapse,
}

/// What is known of the sender at a time.
pub struct Sample {
    /// quinn's own counters.
    pub stats: ConnectionStats,
    pub seen: Seen,
    /// Window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes.
    pub ssthresh: Option<u64>,
    /// Rate at which datagrams leave at most, bit/s.
    pub pacing_bps: Option<u64>,
    /// The socket of a controller in kernel style.
    pub kernel: Option<View>,
    /// Length of a full datagram, bytes.
    datagram: u16,
}

impl Sample {
    /// Whole datagrams of `bytes`.
    pub fn datagrams(&self, bytes: u64) -> u32 {
        (bytes / u64::from(self.datagram)).min(u64::from(u32::MAX)) as u32
    }

    /// Datagrams in flight, the last of them full or not.
    pub fn in_flight(&self) -> u32 {
        self.seen.in_flight.div_ceil(u64::from(self.datagram)) as u32
    }

    /// Smoothed RTT, us; none before the first.
    pub fn srtt_us(&self) -> Option<u32> {
        self.seen.rtt.map(|_| us(self.stats.path.rtt))
    }

    /// The last RTT, us.
    pub fn rtt_us(&self) -> Option<u32> {
        self.seen.rtt.map(us)
    }

    /// The smallest RTT, us.
    pub fn min_rtt_us(&self) -> Option<u32> {
        self.seen.min_rtt.map(us)
    }
}

fn us(span: Duration) -> u32 {
    span.as_micros().min(1 << 28) as u32
}

/// See the module documentation.
pub struct Sender {
    config: Config,
    /// Time of the last call: quinn's timers may lie before it, and are due then.
    now: Time,
    client: Host,
    /// What the client connects with, until it does.
    connect: Option<ClientConfig>,
    watch: Watch,
    observer: Observer,
    /// Of a controller in kernel style, once it is there.
    pacing: Option<Pacing>,
    zeros: Bytes,
    /// The client's stream.
    stream: Option<StreamId>,
    written: u64,
    /// Bytes of all datagrams that were sent, as quinn counts them: asking it copies all of its counters.
    sent: u64,
    owed: u64,
    is_greedy: bool,
    is_closing: bool,
    is_stopped: bool,
    is_established: bool,
    /// When the next datagram may leave, where this host paces.
    next: Time,
    is_held: bool,
    told: (u64, u32),
    records: bool,
    happened: Vec<Happened>,
}

impl Sender {
    /// A client that has not started.
    pub fn new(config: Config, cca: Cca) -> Sender {
        let watch = Watch::default();
        let (transport, observer) = config::sender(&config, cca, &watch);
        Sender {
            config,
            now: Time::ZERO,
            client: Host::new(config::endpoint(&config, 1), None, Clock::new(), config.ecn),
            connect: Some(config::client(transport)),
            watch,
            observer,
            pacing: None,
            zeros: Bytes::from(vec![0; PIECE]),
            stream: None,
            written: 0,
            sent: 0,
            owed: 0,
            is_greedy: false,
            is_closing: false,
            is_stopped: false,
            is_established: false,
            next: Time::ZERO,
            is_held: false,
            told: (0, 0),
            records: false,
            happened: Vec::new(),
        }
    }

    /// Keeps what happens for [`Sender::take_happened`].
    pub fn set_record_events(&mut self) {
        self.records = true;
    }

    /// Whether [`Sender::take_happened`] has something.
    pub fn has_happened(&self) -> bool {
        !self.happened.is_empty()
    }

    /// What happened since the last call, oldest first.
    pub fn take_happened(&mut self) -> std::vec::Drain<'_, Happened> {
        self.happened.drain(..)
    }

    /// The client connects.
    pub fn start(&mut self, now: Time) {
        self.now = now;
        let config = self.connect.take().expect("started twice");
        self.client.connect(now, config);
        self.pacing = self.observer.pacing();
    }

    /// The application is gone: nothing leaves any more.
    pub fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// The application writes; it may do so before the connection is open.
    pub fn supply(&mut self, write: Write) {
        match write {
            Write::Bytes(bytes) => self.owed += bytes,
            Write::Greedy => self.is_greedy = true,
            Write::Close => self.is_closing = true,
        }
        self.write();
    }

    /// The application writes a transfer of a size, or without end.
    pub fn supply_transfer(&mut self, size: Option<u64>) {
        match size {
            Some(bytes) => {
                self.supply(Write::Bytes(bytes));
                self.supply(Write::Close);
            }
            None => self.supply(Write::Greedy),
        }
    }

    /// A datagram of `len` bytes arrives, which begins with `head`; the rest is zeros.
    pub fn on_datagram(&mut self, now: Time, head: &[u8], len: u16, ecn: u8) {
        self.now = now;
        if self.is_stopped {
            return;
        }
        self.client.arrive(now, head, len, ecn);
        self.after_client();
    }

    /// Its timer.
    pub fn on_timer(&mut self, now: Time) {
        self.now = now;
        if self.is_stopped {
            return;
        }
        if self.client.deadline() <= now {
            self.client.on_timer(now);
            self.after_client();
        }
    }

    /// When it has something to do by itself.
    pub fn deadline(&mut self) -> Time {
        if self.is_stopped {
            return Time::NEVER;
        }
        let held = if self.is_held { self.next } else { Time::NEVER };
        self.client.deadline().min(held).max(self.now)
    }

    /// The next datagram that leaves now.
    pub fn depart(&mut self, now: Time) -> Option<Outgoing<'_>> {
        self.now = now;
        if self.is_stopped {
            return None;
        }
        self.is_held = self.is_established && now < self.next;
        if self.is_held {
            return None;
        }
        self.write();
        let outgoing = self.client.depart(now)?;
        self.sent += outgoing.bytes.len() as u64;
        let paced = paced_bps(self.pacing.as_ref(), &self.config);
        if let Some(bps) = paced.filter(|_| self.is_established) {
            let bits = outgoing.bytes.len() as u128 * 8_000_000_000;
            let gap = (bits / u128::from(bps.max(1))) as u64;
            let made_up = if self.config.makes_up { now.since(self.next).as_ns() } else { 0 };
            self.next = now + Span::from_ns(gap - made_up.min(gap / 2));
        }
        Some(outgoing)
    }

    fn after_client(&mut self) {
        while let Some(event) = self.client.poll() {
            if matches!(event, quinn_proto::Event::Connected) {
                self.is_established = true;
                self.note(Happened::Established);
            }
        }
        self.write();
        if self.records {
            self.note_losses();
        }
    }

    fn note_losses(&mut self) {
        let lost = self.lost_packets();
        let collapses = self.watch.collapses();
        let (told_lost, told_collapses) = std::mem::replace(&mut self.told, (lost, collapses));
        if lost > told_lost {
            self.note(Happened::Lost((lost - told_lost) as u32));
        }
        if collapses > told_collapses {
            self.note(Happened::Collapse);
        }
    }

    fn note(&mut self, happened: Happened) {
        if self.records {
            self.happened.push(happened);
        }
    }

    /// Gives quinn what the application has written.
    fn write(&mut self) {
        // More was sent than the stream had, headers and repetitions too: what waits is never less than AHEAD.
        let wanted = if self.is_greedy { self.sent + AHEAD } else { 0 };
        let has_work = self.owed > 0 || self.written < wanted || self.is_closing;
        if !self.is_established || !has_work {
            return;
        }
        let Some(connection) = self.client.connection() else { return };
        let stream = self.stream.or_else(|| connection.streams().open(Dir::Uni));
        self.stream = stream;
        let Some(mut stream) = stream.map(|id| connection.send_stream(id)) else { return };
        while self.owed > 0 || self.written < wanted {
            let len = if self.is_greedy { PIECE } else { PIECE.min(self.owed as usize) };
            let mut piece = [self.zeros.slice(..len)];
            let Ok(written) = stream.write_chunks(&mut piece) else { return };
            self.written += written.bytes as u64;
            self.owed = self.owed.saturating_sub(written.bytes as u64);
        }
        if self.is_closing {
            self.is_closing = stream.finish().is_err();
        }
    }

    /// Bytes of all datagrams that were sent.
    pub fn sent_bytes(&self) -> u64 {
        self.sent
    }

    /// Packets that were declared lost.
    pub fn lost_packets(&self) -> u64 {
        self.client.known().map_or(0, |connection| connection.stats().path.lost_packets)
    }

    pub fn is_established(&self) -> bool {
        self.is_established
    }

    /// The controller's state among those of its module.
    pub fn controller_state(&self) -> Option<u32> {
        self.observer.state()
    }

    /// What is known of it; `None` before it starts.
    pub fn sample(&self) -> Option<Sample> {
        let connection = self.client.known()?;
        let metrics = connection.congestion_state().metrics();
        let stats = connection.stats();
        let unset = |threshold: &u64| *threshold < u64::MAX;
        Some(Sample {
            stats,
            seen: self.watch.seen(),
            cwnd: metrics.congestion_window,
            ssthresh: metrics.ssthresh.filter(unset),
            pacing_bps: self.pacing(metrics.congestion_window, &stats),
            kernel: self.observer.view(),
            datagram: self.config.datagram,
        })
    }

    /// quinn's pacer knows window and RTT only; a rate that is set acts as well where it is lower.
    fn pacing(&self, window: u64, stats: &ConnectionStats) -> Option<u64> {
        let srtt_ns = stats.path.rtt.as_nanos().max(1);
        let own = u128::from(window * WINDOWS_PER_RTT_QUARTERS / 4) * 8_000_000_000 / srtt_ns;
        let own = u64::try_from(own).unwrap_or(u64::MAX);
        let set = paced_bps(self.pacing.as_ref(), &self.config);
        Some(set.map_or(own, |bps| bps.min(own)))
    }

    /// Stream data that the application has written, bytes.
    pub fn written_bytes(&self) -> u64 {
        self.written
    }

    /// Length of a full datagram, bytes.
    pub fn datagram(&self) -> u16 {
        self.config.datagram
    }
}

/// The rate that this host lets datagrams leave at, beyond quinn's own pacing: that of a controller which sets one, and
/// the application's limit.
fn paced_bps(pacing: Option<&Pacing>, config: &Config) -> Option<u64> {
    let set = pacing.and_then(Pacing::bps);
    [set, config.max_rate_bps].into_iter().flatten().min()
}
