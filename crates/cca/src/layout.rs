//! Test: the Rust mirrors have the offsets and sizes that the C compiler chose.

use std::collections::BTreeMap;
use std::ffi::{c_char, CStr};
use std::mem::{offset_of, size_of};
use std::ptr::addr_of;
use std::slice;

use crate::sample::{AckSample, CaInfo, LostBurst, RateSample};
use crate::sock::TcpSock;

#[repr(C)]
struct Row {
    mirror: *const c_char,
    field: *const c_char,
    offset: u64,
    size: u64,
}

type Layout = BTreeMap<(String, String), (usize, usize)>;

fn layout_in_c() -> Layout {
    extern "C" {
        static cca_layout: Row;
        static cca_layout_rows: u64;
    }
    // SAFETY: immutable objects of C; `cca_layout` is an array of `cca_layout_rows` rows.
    let rows = unsafe { slice::from_raw_parts(addr_of!(cca_layout), cca_layout_rows as usize) };
    // SAFETY: the strings are literals.
    let text = |s| unsafe { CStr::from_ptr(s) }.to_str().unwrap().to_owned();
    rows.iter()
        .map(|r| ((text(r.mirror), text(r.field)), (r.offset as usize, r.size as usize)))
        .collect()
}

fn size_of_field<S, F>(_: impl Fn(&S) -> &F) -> usize {
    size_of::<F>()
}

macro_rules! mirror {
    ($map:ident, $type:ident, $($field:ident)*) => {
        $map.insert((stringify!($type).into(), String::new()), (0, size_of::<$type>()));
        $($map.insert(
            (stringify!($type).into(), stringify!($field).into()),
            (offset_of!($type, $field), size_of_field(|s: &$type| &s.$field)),
        );)*
        // Fails to compile when a field is missing above.
        let _ = |$type { $($field: _),* }: $type| ();
    };
}

fn layout_in_rust() -> Layout {
    let mut map = Layout::new();
    mirror!(map, TcpSock, sk_pacing_rate sk_max_pacing_rate sk_pacing_status sk_gso_max_size
        sk_gso_max_segs sk_pacing_shift sk_state params storage rng hz jiffies sk_prot_bits
        skc_daddr skc_rcv_saddr skc_hash skc_dport skc_num skc_family skc_state skc_v6_daddr skc_v6_rcv_saddr
        sk_mark inet_saddr inet_sport tos icsk_rto icsk_ca_state
        icsk_retransmits icsk_backoff icsk_ack_pending icsk_ca_priv icsk_ca_ops tcp_mstamp tcp_clock_cache
        tcp_wstamp_ns lsndtime snd_una snd_nxt write_seq high_seq undo_marker undo_retrans snd_wnd
        max_window mss_cache srtt_us mdev_us rttvar_us rtt_min snd_cwnd snd_cwnd_cnt snd_cwnd_clamp
        snd_cwnd_stamp snd_ssthresh prior_cwnd prior_ssthresh packets_out retrans_out sacked_out
        lost_out max_packets_out cwnd_usage_seq is_cwnd_limited ecn_flags delivered delivered_ce lost
        total_retrans data_segs_out app_limited first_tx_mstamp delivered_mstamp rate_delivered
        rate_interval_us rate_app_limited reordering rcv_tsval rcv_tsecr rack_rtt_us rcv_nxt
        reord_seen fast_ack_mode is_sack_reneg tlp_orig_data_app_limited wants_cwr
        bytes_acked bytes_sent bytes_retrans);
    mirror!(map, RateSample, prior_mstamp prior_delivered prior_delivered_ce delivered delivered_ce
        interval_us snd_interval_us rcv_interval_us rtt_us losses acked_sacked prior_in_flight
        last_end_seq is_app_limited is_retrans is_ack_delayed is_ece
        is_acking_tlp_retrans_seq tx_in_flight lost);
    mirror!(map, AckSample, pkts_acked rtt_us in_flight);
    mirror!(map, LostBurst, segs tx_in_flight lost_at_send delivered_at_send is_app_limited);
    mirror!(map, CaInfo, bw_bytes_per_s flags state min_rtt_us pacing_gain cwnd_gain inflight_lo
        inflight_hi);
    map
}

#[test]
fn mirrors_have_the_layout_of_c() {
    let (c, rust) = (layout_in_c(), layout_in_rust());
    for (field, place) in &c {
        assert_eq!(rust.get(field), Some(place), "{field:?} as (offset, size)");
    }
    assert_eq!(c.len(), rust.len(), "fields that one side does not list");
}
