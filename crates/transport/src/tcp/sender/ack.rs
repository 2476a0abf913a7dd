//! What one acknowledgement does, in the order of `tcp_ack` (net/ipv4/tcp_input.c).

use super::super::ack_state::{flag, AckState};
use super::super::config::INIT_CWND;
use super::super::ecn::AceProgress;
use super::super::recovery::rack;
use super::super::recovery::scoreboard::sample_delivery;
use super::super::rtt::Estimates;
use super::super::rtx_queue::{Plain, EVER_RETRANS, LOST, RETRANS, SACKED};
use super::Sender;
use crate::common::clock::{host_ns, since_echo_ms};
use crate::common::{Conn, SenderEvent, Stamps};
use cca::{AckSample, CaState};
use net::TcpAck;

/// Segments that an ACK takes off the queue, and what they say about the RTT.
struct Cleaned {
    packets: u32,
    first_ackt: Option<u32>,
    last_ackt: u32,
    /// Segments in flight once the last of them was sent.
    last_in_flight: u32,
}

impl Cleaned {
    /// Segments that were sent once, the first at `first_tx_us` and the last with these stamps.
    #[inline]
    fn note_original(&mut self, first_tx_us: u32, last: &Stamps) {
        self.first_ackt.get_or_insert(first_tx_us);
        self.last_ackt = last.tx_us;
        self.last_in_flight = last.in_flight;
    }
}

impl Sender {
    /// The SYN-ACK: first RTT sample, initial window, controller starts.
    pub(super) fn establish(&mut self, ack: &TcpAck) {
        self.conn = Conn::Established;
        self.timer.clear();
        self.sk.delivered = 1;
        self.sk.delivered_mstamp = self.sk.tcp_mstamp;
        self.sk.first_tx_mstamp = host_ns(self.syn.sent_at) / 1000;
        self.sk.app_limited = 0;
        self.sk.snd_wnd = ack.window;
        self.sk.max_window = ack.window;
        self.recovery.ecn.is_accurate = ack.ace != 0;
        self.recovery.ecn.is_on = ack.ece || self.recovery.ecn.is_accurate;
        self.recovery.ecn.is_l4s =
            self.recovery.ecn.is_accurate && self.sk.controller().module().needs_l4s();
        self.sk.rcv_tsval = ack.ts_val;
        self.sk.ecn_flags = self.recovery.ecn.flags();
        self.sync_seq();
        // After a retransmission only the echoed timestamp says which SYN was answered.
        let rtt_us = match self.syn.retries {
            0 => Some(self.sk.now().since(self.syn.sent_at).as_us() as u32),
            _ => self.echoed_rtt_us(ack.ts_ecr),
        };
        if let Some(rtt_us) = rtt_us {
            self.update_rtt_min(rtt_us);
            self.rtt.sample(Estimates::of(&mut self.sk), rtt_us, 0, 0);
            self.set_rto();
            self.last_rtt_us = rtt_us;
        }
        // The answer to the first SYN shows that timeouts since were spurious (`tcp_try_undo_spurious_syn`).
        let is_lost = self.syn.retries > 1 && ack.ts_ecr != self.syn.first_ts_val;
        let cwnd = if is_lost { 1 } else { self.config.initial_window };
        if !self.sk.has_cong_control() {
            // The SYN-ACK is processed with the socket's first window (`tcp_init_sock`), or what timeouts left of it
            // (`tcp_enter_loss`), and gives the first pacing rate; the route's window starts after that
            // (`tcp_rcv_synsent_state_process`). A listener's is the other way round.
            self.sk.snd_cwnd = match (self.syn.is_answer, self.syn.retries) {
                (true, _) => cwnd,
                (false, 0) => INIT_CWND,
                (false, _) => 1,
            };
            self.update_pacing_rate();
        }
        self.sk.snd_cwnd = cwnd;
        self.sk.snd_cwnd_stamp = self.sk.jiffies;
        self.sk.init();
        self.expand_buffer();
        self.sk.lsndtime = self.sk.jiffies;
        self.sk.log(SenderEvent::Established);
        if !self.syn.is_answer {
            self.recovery.ecn.on_own_syn();
            self.send_handshake_ack();
        }
        if self.buffer.is_some() {
            self.fill();
        } else {
            self.push_pending();
        }
    }

    /// `tcp_ack`; false for an ACK of what was never sent, which Linux drops unread, without an answer.
    pub(super) fn process_ack(&mut self, ack: &TcpAck) -> bool {
        let prior_una = self.rtx.una();
        let mut st = AckState::new(prior_una);
        let nxt = self.rtx.nxt();
        if ack.ack > nxt || (ack.ack == nxt && ack.part() > 0) {
            return false;
        }
        let part = self.newly_acked_part(ack);
        if ack.ack < prior_una || part.is_some_and(|bytes| bytes < 0) {
            self.process_old_ack(ack, &mut st);
            return true;
        }
        let (delivered, lost) = (self.sk.delivered, self.sk.lost);
        let was_reneged = self.recovery.scoreboard.is_reneged;
        let prior_packets = self.sk.packets_out;
        if ack.ack > prior_una || part.is_some() {
            st.flag |= flag::SND_UNA_ADVANCED;
            self.sk.icsk_retransmits = 0;
            self.part = (ack.ack, ack.part());
        }
        let prior_fack = self.recovery.scoreboard.highest(&self.sk, &self.rtx);
        st.sampler.rs.prior_in_flight = self.in_flight();
        self.note_timestamp(ack, &mut st);
        self.sk.rcv_tsval = ack.ts_val;
        self.sk.rcv_tsecr = ack.ts_ecr;
        self.receive_window_and_sacks(ack, &mut st);
        if prior_packets == 0 {
            self.count_accurate_ce(ack, delivered, &mut st);
            self.ack_without_queue(&mut st);
            self.on_ack_while_probing();
            return true;
        }
        self.clean_rtx_queue(ack.ack, prior_fack, &mut st);
        self.recovery.rack.update_reo_wnd(self.sk.delivered, st.sampler.prior_delivered());
        self.count_accurate_ce(ack, delivered, &mut st);
        self.notify_ack(&st);
        self.recovery.on_probe_ack(&mut self.sk, &self.rtx, ack.ack, &mut st);
        self.alert_if_suspicious(&mut st);
        if st.has(flag::SET_XMIT_TIMER) {
            self.set_xmit_timer();
        }
        let acked = self.sk.delivered.wrapping_sub(delivered);
        let losses = self.sk.lost.wrapping_sub(lost) as i32;
        self.finish_sample(&mut st, (acked, losses), was_reneged);
        self.cong_control(acked, &st);
        self.transmit_recovery(st.rexmit);
        true
    }

    /// Bytes of the first segment that an ACK for everything before it acknowledges beyond those that are; `None` where they
    /// are the same, or it is for another segment. Less than a segment moves `snd_una` and the window's end, and so counts
    /// as progress, but takes nothing off the queue (`tcp_clean_rtx_queue` counts whole segments, `tcp_tso_acked`).
    #[inline]
    fn newly_acked_part(&self, ack: &TcpAck) -> Option<i64> {
        if ack.ack != self.rtx.una() {
            return None;
        }
        let more = i64::from(ack.part()) - i64::from(self.acked_part());
        (more != 0).then_some(more)
    }

    /// The recovery state machine runs (`tcp_fastretrans_alert`) for an ACK that is dubious, or in any state but Open.
    fn alert_if_suspicious(&mut self, st: &mut AckState) {
        if !st.has(flag::NOT_DUP)
            || st.has(flag::CA_ALERT)
            || self.recovery.ca_state() != CaState::Open
        {
            st.is_dupack = !st.has(flag::SND_UNA_ADVANCED | flag::NOT_DUP | flag::DSACKING_ACK);
            self.alert(st);
        }
    }

    /// Completes the rate sample of an ACK that delivered and lost this many segments.
    fn finish_sample(&mut self, st: &mut AckState, counts: (u32, i32), was_reneged: bool) {
        self.sk.stats.delivered += u64::from(counts.0);
        st.sampler.rs.is_ack_delayed = st.has(flag::ACK_MAYBE_DELAYED);
        st.sampler.rs.is_ece = st.has(flag::ECE);
        st.sampler.finish(&mut self.sk, counts, was_reneged, |end| self.supply.sampled_end(end));
    }

    /// An ACK below the window still carries SACK information.
    fn process_old_ack(&mut self, ack: &TcpAck, st: &mut AckState) {
        if ack.n_sacks == 0 {
            return;
        }
        self.tag(ack, st);
        let delivered = self.sk.delivered;
        self.alert(st);
        self.sk.stats.delivered += u64::from(self.sk.delivered.wrapping_sub(delivered));
        self.transmit_recovery(st.rexmit);
    }

    fn receive_window_and_sacks(&mut self, ack: &TcpAck, st: &mut AckState) {
        let slow = ack.n_sacks > 0
            || ack.ece
            || ack.window != self.sk.snd_wnd
            || !st.has(flag::SND_UNA_ADVANCED);
        if slow {
            st.flag |= flag::SLOWPATH;
        }
        if st.has(flag::SND_UNA_ADVANCED) || ack.window > self.sk.snd_wnd || ack.window == 0 {
            st.flag |= flag::WIN_UPDATE;
            if self.sk.snd_wnd != ack.window {
                self.sk.snd_wnd = ack.window;
                if self.unsent() > 0 {
                    self.check_idle();
                }
            }
            self.sk.max_window = self.sk.max_window.max(ack.window);
        }
        if ack.n_sacks > 0 {
            self.tag(ack, st);
        }
        if ack.ece && self.recovery.ecn.is_on {
            st.flag |= flag::ECE;
        }
        self.count_delivered(st.sack_delivered, st.has(flag::ECE));
    }

    /// Reads the SACK blocks.
    fn tag(&mut self, ack: &TcpAck, st: &mut AckState) {
        if self.recovery.tag(&mut self.sk, &mut self.rtx, ack, st) {
            self.check_reordering(st.reord);
        }
    }

    /// Segment `low` was delivered now; perhaps after higher ones.
    fn check_reordering(&mut self, low: u32) {
        let (sk, rtx, supply) = (&mut self.sk, &self.rtx, &self.supply);
        self.recovery.scoreboard.check_reordering(sk, rtx, low, |a, b| supply.missing(a, b));
    }

    fn count_delivered(&mut self, n: u32, ece: bool) {
        self.sk.delivered = self.sk.delivered.wrapping_add(n);
        if ece {
            self.sk.delivered_ce = self.sk.delivered_ce.wrapping_add(n);
        }
    }

    /// Nothing was outstanding: only a reported duplicate matters.
    fn ack_without_queue(&mut self, st: &mut AckState) {
        self.notify_ack(st);
        if st.has(flag::DSACKING_ACK) {
            self.alert(st);
        }
        self.recovery.on_probe_ack(&mut self.sk, &self.rtx, self.rtx.una(), st);
    }

    fn alert(&mut self, st: &mut AckState) {
        st.can_send_new = self.recovery.may_ask_for_new_data() && self.can_send_new();
        let fack = self.recovery.scoreboard.highest(&self.sk, &self.rtx);
        st.missing_from_una = self.supply.missing(st.prior_una, fack);
        self.recovery.alert(&mut self.sk, &mut self.rtx, &mut self.timer, st);
    }

    /// Whether data that was never sent waits, and the receive window takes it.
    pub(super) fn can_send_new(&self) -> bool {
        self.unsent() > 0 && self.is_in_window()
    }

    /// Reads the ACE field. An ACK that neither delivers anything nor has a newer timestamp may have been
    /// overtaken and tells nothing. `delivered` is the count before this ACK.
    fn count_accurate_ce(&mut self, ack: &TcpAck, delivered: u32, st: &mut AckState) {
        let ecn = &mut self.recovery.ecn;
        if !ecn.is_accurate || !(st.is_newer || st.has(flag::FORWARD_PROGRESS)) {
            return;
        }
        let marked = ecn.newly_marked(&AceProgress {
            ace: ack.ace,
            delivered_ce: self.sk.delivered_ce,
            acked: self.sk.delivered.wrapping_sub(delivered),
        });
        if marked > 0 {
            self.sk.delivered_ce = self.sk.delivered_ce.wrapping_add(marked);
            st.flag |= flag::ECE | flag::SLOWPATH;
        }
    }

    fn notify_ack(&mut self, st: &AckState) {
        let mut flags = 0;
        if st.has(flag::WIN_UPDATE) {
            flags |= cca::CA_ACK_WIN_UPDATE;
        }
        if st.has(flag::SLOWPATH) {
            flags |= cca::CA_ACK_SLOWPATH;
            if st.has(flag::ECE) {
                flags |= cca::CA_ACK_ECE;
            }
        }
        self.sk.in_ack_event(flags);
    }

    /// `tcp_clean_rtx_queue`: takes what is cumulatively acknowledged off the queue, samples the RTT,
    /// tells the controller.
    fn clean_rtx_queue(&mut self, ack: u32, prior_fack: u32, st: &mut AckState) {
        let prior_sacked = self.sk.sacked_out;
        let mut reord = self.rtx.nxt();
        let cleaned = self.pop_acked(ack, &mut reord, st);
        self.sync_una();
        let head_sacked = !self.rtx.is_empty() && self.rtx.flags(ack) & SACKED != 0;
        if head_sacked {
            st.flag |= flag::SACK_RENEGING;
        }
        let (rtt_updated, sack_rtt) = self.sample_rtt(&cleaned, prior_sacked, st);
        if st.has(flag::DATA_ACKED) {
            st.flag |= flag::SET_XMIT_TIMER;
            if reord < prior_fack {
                self.check_reordering(reord);
            }
        } else if let (true, false, Some(sack_rtt)) = (rtt_updated, self.rtx.is_empty(), sack_rtt) {
            let head_age = self.sk.us_since(self.rtx.stamps(self.rtx.una()).tx_us);
            if sack_rtt > head_age {
                st.flag |= flag::SET_XMIT_TIMER;
            }
        }
        let since = self.sk.delivered.wrapping_sub(st.sampler.rs.prior_delivered);
        let sample = AckSample {
            pkts_acked: cleaned.packets,
            rtt_us: st.sampler.rs.rtt_us as i32,
            in_flight: self.sk.mss_cache.wrapping_mul(since),
        };
        self.sk.pkts_acked(&sample);
    }

    fn pop_acked(&mut self, ack: u32, reord: &mut u32, st: &mut AckState) -> Cleaned {
        let mut cleaned = Cleaned { packets: 0, first_ackt: None, last_ackt: 0, last_in_flight: 0 };
        while self.rtx.una() < ack {
            let first = self.rtx.una();
            match self.rtx.pop_plain(ack) {
                Some(plain) => self.clean_plain(first, &plain, &mut cleaned, reord, st),
                None => self.clean_first(&mut cleaned, reord, st),
            }
        }
        self.sk.packets_out -= cleaned.packets;
        if self.sk.packets_out == 0 {
            // A timeout that follows an undo counts a retransmission of the head twice ("retrans_out
            // leaked" in tcp_retransmit_skb); as in Linux the count is right again once all is acknowledged.
            self.sk.retrans_out = 0;
            if self.unsent() == 0 {
                self.limits.end(self.sk.jiffies);
            }
        }
        if cleaned.packets > 0 {
            st.flag |= flag::DATA_ACKED;
        }
        cleaned
    }

    /// Segments from `first` that were sent once and are acknowledged together.
    #[inline]
    fn clean_plain(
        &mut self,
        first: u32,
        plain: &Plain,
        cleaned: &mut Cleaned,
        reord: &mut u32,
        st: &mut AckState,
    ) {
        let &Plain { segments, first_tx_us, ref stamps, flags } = plain;
        cleaned.note_original(first_tx_us, stamps);
        *reord = (*reord).min(first);
        if first < self.recovery.high_seq() {
            st.flag |= flag::ORIG_SACK_ACKED;
        }
        self.count_delivered(segments, st.has(flag::ECE));
        let last = first + segments - 1;
        self.recovery.rack.advance(&mut self.sk, flags, last + 1, stamps.tx_us);
        sample_delivery(&mut st.sampler, &mut self.sk, stamps, last, flags);
        cleaned.packets += segments;
    }

    /// The first segment is acknowledged, whatever was heard of it. A function of its own, so that what it may change is not
    /// read ahead of each plain run.
    #[inline(never)]
    fn clean_first(&mut self, cleaned: &mut Cleaned, reord: &mut u32, st: &mut AckState) {
        let seq = self.rtx.una();
        let (flags, stamps) = self.rtx.first();
        let tx_us = stamps.tx_us;
        if flags & (RETRANS | EVER_RETRANS) != 0 {
            if flags & RETRANS != 0 {
                self.sk.retrans_out -= 1;
            }
            st.flag |= flag::RETRANS_DATA_ACKED;
        } else if flags & SACKED == 0 {
            cleaned.note_original(tx_us, &stamps);
            *reord = (*reord).min(seq);
            if seq < self.recovery.high_seq() {
                st.flag |= flag::ORIG_SACK_ACKED;
            }
        }
        if flags & SACKED != 0 {
            self.sk.sacked_out -= 1;
        } else {
            self.count_delivered(1, st.has(flag::ECE));
            if !self.is_spurious_retrans(flags, tx_us) {
                self.recovery.rack.advance(&mut self.sk, flags, seq + 1, tx_us);
            }
        }
        if flags & LOST != 0 {
            self.sk.lost_out -= 1;
        }
        sample_delivery(&mut st.sampler, &mut self.sk, &stamps, seq, flags);
        self.rtx.pop_front();
        cleaned.packets += 1;
    }

    /// The ACK echoes a timestamp from before this retransmission (`tcp_skb_spurious_retrans`).
    fn is_spurious_retrans(&self, flags: u8, tx_us: u32) -> bool {
        if flags & (RETRANS | EVER_RETRANS) == 0 || self.sk.rcv_tsecr == 0 {
            return false;
        }
        let sent_ms = (self.sk.full_us(tx_us) / 1000) as u32;
        (self.sk.rcv_tsecr.wrapping_sub(sent_ms) as i32) < 0
    }

    /// Takes the RTT samples of this ACK (`tcp_ack_update_rtt`); says whether there was one, and the
    /// RTT of newly SACKed segments.
    fn sample_rtt(
        &mut self,
        c: &Cleaned,
        prior_sacked: u32,
        st: &mut AckState,
    ) -> (bool, Option<u32>) {
        let (mut seq_rtt, mut ca_rtt) = (None, None);
        if let (Some(first), false) = (c.first_ackt, st.has(flag::RETRANS_DATA_ACKED)) {
            seq_rtt = Some(self.sk.us_since(first));
            ca_rtt = Some(self.sk.us_since(c.last_ackt));
            if c.packets == 1
                && self.is_lone_short(c)
                && prior_sacked == 0
                && st.sampler.rs.prior_delivered.wrapping_add(1) == self.sk.delivered
                && !st.has(flag::CA_ALERT)
            {
                st.flag |= flag::ACK_MAYBE_DELAYED;
            }
        }
        let sack_rtt = st.first_sackt.map(|first| self.sk.us_since(first));
        if sack_rtt.is_some() {
            ca_rtt = Some(self.sk.us_since(st.last_sackt));
        }
        seq_rtt = seq_rtt.or(sack_rtt);
        if seq_rtt.is_none() && st.has(flag::DATA_ACKED) && self.sk.rcv_tsecr != 0 {
            seq_rtt = self.echoed_rtt_us(self.sk.rcv_tsecr);
            ca_rtt = seq_rtt;
        }
        st.sampler.rs.rtt_us = ca_rtt.map_or(-1, i64::from);
        let (Some(seq_rtt), Some(ca_rtt)) = (seq_rtt, ca_rtt) else { return (false, sack_rtt) };
        if !(st.has(flag::ACK_MAYBE_DELAYED) && ca_rtt > self.sk.min_rtt_us()) {
            self.update_rtt_min(ca_rtt);
        }
        self.last_rtt_us = ca_rtt;
        self.rtt.sample(Estimates::of(&mut self.sk), seq_rtt, self.rtx.una(), self.rtx.nxt());
        self.set_rto();
        self.sk.icsk_backoff = 0;
        (true, sack_rtt)
    }

    /// The segment that was acknowledged is short; of a stream written in pieces, also alone in flight
    /// (`tx.in_flight` below the MSS), as the receiver may delay the ACK of such a one.
    fn is_lone_short(&self, c: &Cleaned) -> bool {
        let is_short = self.supply.payload(self.rtx.una() - 1) < self.config.mss;
        is_short && (!self.supply.by_writes || c.last_in_flight == 1)
    }

    /// RTT by the echoed timestamp, in its unit of 1 ms but not zero, us (`tcp_rtt_tsopt_us`).
    fn echoed_rtt_us(&self, ts_ecr: u32) -> Option<u32> {
        let now_ms = (self.sk.tcp_mstamp / 1000) as u32;
        since_echo_ms(now_ms, ts_ecr).map(|ms| ms.max(1) * 1000)
    }

    /// Windowed minimum (`tcp_update_rtt_min`).
    fn update_rtt_min(&mut self, rtt_us: u32) {
        let jiffy_us = self.sk.tick().to_us(1) as u32;
        self.sk.take_min_rtt(if rtt_us == 0 { jiffy_us } else { rtt_us });
    }

    /// `tcp_cong_control`: the controller or the stack sets window and pacing rate.
    fn cong_control(&mut self, acked: u32, st: &AckState) {
        let ack_seq = self.sk.snd_una;
        if self.sk.has_cong_control() {
            self.sk.cong_control(ack_seq, st.flag, &st.sampler.rs);
            return;
        }
        let una_advanced = st.has(flag::SND_UNA_ADVANCED);
        let losses = st.sampler.rs.losses;
        if !self.recovery.reduce(&mut self.sk, acked as i32, losses, una_advanced) {
            let progress = if self.sk.reordering > rack::REORDERING {
                flag::FORWARD_PROGRESS
            } else {
                flag::DATA_ACKED
            };
            if st.has(progress) {
                self.sk.cong_avoid(ack_seq, acked);
                self.recovery.grant_cwr(&mut self.sk, &self.rtx);
                self.sk.snd_cwnd_stamp = self.sk.jiffies;
            }
        }
        self.update_pacing_rate();
    }

    /// `tcp_update_pacing_rate`: twice the window per RTT in early slow start, 1.2 times afterwards.
    pub(super) fn update_pacing_rate(&mut self) {
        let sk = &mut *self.sk;
        let mut rate = u64::from(sk.mss_cache) * 8_000_000;
        rate *= if sk.snd_cwnd < sk.snd_ssthresh / 2 { 200 } else { 120 };
        rate = rate / 100 * u64::from(sk.snd_cwnd.max(sk.packets_out));
        if sk.srtt_us > 0 {
            rate /= u64::from(sk.srtt_us);
        }
        sk.sk_pacing_rate = rate.min(sk.sk_max_pacing_rate);
    }
}
