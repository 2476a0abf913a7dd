//! Loss marks on the retransmission queue, and the counters of the socket that go with them.

use super::super::rtx_queue::{RtxQueue, APP_LIMITED, LOST, RETRANS, SACKED, SAMPLED};
use crate::common::Socket;
use cca::LostBurst;

/// Marks a buffer of `n` segments as lost (`tcp_mark_skb_lost`); the controller is told of it as a whole.
pub fn mark_lost(sk: &mut Socket, rtx: &mut RtxQueue, seq: u32, n: u32) {
    let flags = rtx.flags(seq);
    if flags & SACKED != 0 || flags & (LOST | RETRANS) == LOST {
        return;
    }
    if flags & LOST == 0 {
        sk.lost_out += n;
    } else {
        sk.retrans_out -= n;
    }
    for seq in seq..seq + n {
        let flags = rtx.flags(seq);
        let was_lost = flags & LOST != 0;
        rtx.set_flags(seq, if was_lost { flags & !RETRANS } else { flags | LOST });
    }
    sk.lost = sk.lost.wrapping_add(n);
    sk.stats.lost += u64::from(n);
    sk.skb_marked_lost(|| sent_as(rtx, seq, n));
}

/// What the buffer was sent with; a segment whose stamps served a sample already has none.
fn sent_as(rtx: &RtxQueue, seq: u32, n: u32) -> LostBurst {
    let flags = rtx.flags(seq);
    let stamps = rtx.stamps(seq + n - 1);
    let has_stamps = flags & SAMPLED == 0;
    LostBurst {
        segs: n,
        tx_in_flight: if has_stamps { stamps.in_flight } else { 0 },
        lost_at_send: stamps.lost,
        delivered_at_send: stamps.delivered,
        is_app_limited: flags & APP_LIMITED != 0,
    }
}

/// Takes all loss marks back.
pub fn unmark_lost(sk: &mut Socket, rtx: &mut RtxQueue) {
    for seq in rtx.una()..rtx.nxt() {
        let flags = rtx.flags(seq);
        if flags & LOST != 0 {
            rtx.set_flags(seq, flags & !LOST);
        }
    }
    sk.lost_out = 0;
}
