//! quinn as the two ends of a flow: its datagrams as packets of the path, and what is known of its sender in the terms
//! that tables have.

use cca::{CaInfo, TcpSock};
use net::{flags, Ack, AckBody, AckKind, Packet};
use path::plan::Plan;
use quinn_ends::{plans, Cca, Departure, Happened, Pair, Ticket, Write};
use transport::app;
use transport::common::{SenderEvent, SenderStats};
use units::Time;

/// See the module documentation.
pub struct Quinn {
    pub pair: Pair,
    /// What quinn tells of its sender, as a socket has it; of the last [`Quinn::observe`].
    pub sk: Box<TcpSock>,
    pub stats: SenderStats,
    /// The estimates of a controller in kernel style.
    pub info: CaInfo,
    /// Names of its states.
    pub states: Vec<&'static str>,
    events: Vec<SenderEvent>,
}

impl Quinn {
    /// Both ends of flow `i`; its stream is greedy or has its size unless an application writes it.
    pub fn new(plan: &Plan, i: usize, cca: Cca, seed: u64) -> Quinn {
        let flow = &plan.flows[i];
        let config = plans::config(plan, i, seed).expect("matched by the caller");
        let states = cca.states();
        let mut pair = Pair::new(config, cca);
        if plan.record.events {
            pair.sender.set_record_events();
        }
        if flow.workload.is_none() {
            pair.sender.supply_transfer(flow.size_bytes);
        }
        let mut sk = TcpSock::new();
        sk.mss_cache = config.datagram.into();
        let stats = SenderStats::default();
        Quinn { pair, sk, stats, info: CaInfo::default(), states, events: Vec::new() }
    }

    /// The application writes.
    ///
    /// # Panics
    /// When it takes back what it wrote, which the plan refuses.
    pub fn supply(&mut self, write: app::Write) {
        self.pair.sender.supply(match write {
            app::Write::Bytes(bytes) => Write::Bytes(bytes),
            app::Write::Endless | app::Write::Greedy => Write::Greedy,
            app::Write::Close => Write::Close,
            app::Write::Pause => panic!("quinn cannot take back what was written"),
        });
    }

    pub fn on_packet(&mut self, now: Time, packet: &Packet, out: &mut Vec<Ack>) {
        let ticket = Ticket { index: packet.seq, generation: packet.ts_val, len: packet.len };
        self.pair.on_datagram(now, ticket, packet.ecn);
        self.answer(now, out);
    }

    pub fn on_receiver_timer(&mut self, now: Time, out: &mut Vec<Ack>) {
        self.pair.receiver.on_timer(now);
        self.answer(now, out);
    }

    fn answer(&mut self, now: Time, out: &mut Vec<Ack>) {
        while let Some(Departure { ticket, ecn }) = self.pair.answer(now) {
            let Ticket { index, generation, len } = ticket;
            let body = AckBody::Datagram { number: index, generation, len };
            out.push(Ack { flow: 0, ecn, is_damaged: false, kind: AckKind::Pure, body });
        }
    }

    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        if let AckBody::Datagram { number, generation, len } = ack.body {
            self.pair.on_answer(now, Ticket { index: number, generation, len }, ack.ecn);
        }
    }

    pub fn depart(&mut self, now: Time) -> Option<Packet> {
        let Departure { ticket, ecn } = self.pair.depart(now)?;
        let packet = Packet::datagram(ticket.index, ticket.generation, ticket.len);
        Some(Packet { ecn, ..packet })
    }

    /// What a datagram on the path begins with.
    pub fn head_of_packet(&self, packet: &Packet) -> &[u8] {
        debug_assert!(packet.flags & flags::QUIC != 0, "{packet:?} is no datagram");
        let ticket = Ticket { index: packet.seq, generation: packet.ts_val, len: packet.len };
        self.pair.head(ticket, true).unwrap_or_default()
    }

    /// What an answer begins with.
    pub fn head_of_answer(&self, (number, generation, len): (u32, u32, u16)) -> &[u8] {
        let ticket = Ticket { index: number, generation, len };
        self.pair.head(ticket, false).unwrap_or_default()
    }

    /// Brings what tables read up to date.
    pub fn observe(&mut self) {
        let Some(mut sample) = self.pair.sender.sample() else { return };
        if let Some(view) = sample.kernel.take() {
            self.sk = view.sk;
            self.info = view.info;
        }
        let (path, seen) = (&sample.stats.path, &sample.seen);
        let sk = &mut *self.sk;
        sk.snd_cwnd = sample.datagrams(sample.cwnd);
        sk.snd_ssthresh =
            sample.ssthresh.map_or(cca::INFINITE_SSTHRESH, |bytes| sample.datagrams(bytes));
        sk.sk_pacing_rate = sample.pacing_bps.map_or(cca::UNLIMITED_RATE, |bps| bps / 8);
        sk.srtt_us = sample.srtt_us().unwrap_or(0) << 3;
        sk.rtt_min = cca::MinMax::new(0, sample.min_rtt_us().unwrap_or(u32::MAX));
        sk.packets_out = sample.in_flight();
        self.stats = SenderStats {
            segs_sent: path.sent_packets,
            // QUIC sends frames again, not packets: as many packets as were lost.
            retrans_segs: path.lost_packets,
            bytes_sent: sample.stats.udp_tx.bytes,
            delivered: seen.acked,
            lost: path.lost_packets,
            recoveries: seen.events,
            rtos: seen.collapses,
            tlps: 0,
            undos: 0,
            acks_received: sample.stats.udp_rx.datagrams,
        };
    }

    /// The last round-trip time, us.
    pub fn last_rtt_us(&self) -> u32 {
        self.pair.sender.sample().and_then(|sample| sample.rtt_us()).unwrap_or(0)
    }

    pub fn take_events(&mut self) -> std::vec::Drain<'_, SenderEvent> {
        for happened in self.pair.sender.take_happened() {
            self.events.push(match happened {
                Happened::Established => SenderEvent::Established,
                Happened::Lost(packets) => SenderEvent::Lost(packets),
                Happened::Collapse => SenderEvent::Rto,
            });
        }
        self.events.drain(..)
    }
}
