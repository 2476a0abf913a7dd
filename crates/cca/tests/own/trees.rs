//! Modules of other trees than Linux 6.12: what they find there, they find here. The modules are ours.

use super::{build, flow, Params};
use cca::{CaEvent, LostBurst, Modules, RateSample};

/// The form of Google's v2alpha tree: cong_control with two arguments, lost skbs, sizes of bursts, and
/// private state beyond 104 bytes.
const V2ALPHA: &str = r#"
#include <linux/module.h>
#include <net/tcp.h>
#include <linux/inet_diag.h>
#include <linux/inet.h>
#include <linux/random.h>
#include "tcp_dctcp.h"
static bool big_debug;
module_param_named(debug, big_debug, bool, 0644);
struct big { u32 prefix; u32 seen_lost; u32 ece; u64 room[30]; };
static u32 big_ssthresh(struct sock *sk) { return tcp_sk(sk)->snd_ssthresh; }
static u32 big_undo(struct sock *sk) { return tcp_sk(sk)->snd_cwnd; }
static void big_init(struct sock *sk)
{
	struct big *big = inet_csk_ca(sk);
	memset(big, 0, sizeof(*big));
	big->room[29] = prandom_u32_max(10);
	tcp_sk(sk)->fast_ack_mode = 1;
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}
static void big_event(struct sock *sk, enum tcp_ca_event event)
{
	u32 seen = 0, state = 0;

	if (event != CA_EVENT_ECN_IS_CE && event != CA_EVENT_ECN_NO_CE)
		return;
	dctcp_ece_ack_update(sk, event, &seen, &state);
	if (tcp_sk(sk)->fast_ack_mode == 2 && state)
		tcp_enter_quickack_mode(sk, TCP_MAX_QUICKACKS);
}
static void big_tell(struct sock *sk, const struct rate_sample *rs)
{
	const u16 dport = ntohs(inet_sk(sk)->inet_dport);
	char addr[INET6_ADDRSTRLEN + 10] = { 0 };

	if (sk->sk_state == TCP_SYN_SENT || !sock_flag(sk, SOCK_DBG))
		return;
	if (sk->sk_family == AF_INET)
		snprintf(addr, sizeof(addr), "%pI4:%u", &inet_sk(sk)->inet_daddr, dport);
	else if (sk->sk_family == AF_INET6)
		snprintf(addr, sizeof(addr), "%pI6:%u", &sk->sk_v6_daddr, dport);
	WARN_ONCE(rs->delivered < 0, "%s %u %c", addr, tcp_highest_sack_seq(tcp_sk(sk)),
		  tcp_sk(sk)->reord_seen ? 'r' : '.');
	printk(KERN_DEBUG "%s", addr);
}
static void big_main(struct sock *sk, const struct rate_sample *rs)
{
	struct big *big = inet_csk_ca(sk);
	u64 rate = (u64)rs->delivered * tcp_sk(sk)->mss_cache * USEC_PER_SEC;

	if (big_debug)
		big_tell(sk, rs);
	do_div(rate, rs->interval_us);
	sk->sk_pacing_rate = rate;
	big->ece += rs->is_ece;
	tcp_sk(sk)->snd_cwnd = rs->tx_in_flight + rs->lost + HZ;
}
static void big_lost(struct sock *sk, const struct sk_buff *skb)
{
	struct big *big = inet_csk_ca(sk);
	struct tcp_skb_cb *scb = TCP_SKB_CB(skb);

	big->seen_lost += tcp_skb_pcount(skb);
	big->prefix = scb->tx.in_flight * 1000 + tcp_sk(sk)->lost - scb->tx.lost;
}
static u32 big_tso_segs(struct sock *sk, unsigned int mss) { return 14480 / mss; }
static size_t big_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	struct big *big = inet_csk_ca(sk);
	if (!(ext & (1 << (INET_DIAG_BBRINFO - 1))))
		return 0;
	memset(&info->bbr2, 0, sizeof(info->bbr2));
	info->bbr2.bbr_bw_msb = 1;
	info->bbr2.bbr_min_rtt = big->prefix;
	info->bbr2.bbr_version = 2;
	info->bbr2.bbr_inflight_hi = big->seen_lost;
	*attr = INET_DIAG_BBRINFO;
	return sizeof(info->bbr2);
}
static struct tcp_congestion_ops big_ops __read_mostly = {
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_WANTS_CE_EVENTS,
	.name = "big", .owner = THIS_MODULE, .init = big_init, .cwnd_event = big_event, .cong_control = big_main,
	.skb_marked_lost = big_lost, .tso_segs = big_tso_segs, .get_info = big_info,
	.ssthresh = big_ssthresh, .undo_cwnd = big_undo,
};
static int __init big_register(void)
{
	BUILD_BUG_ON(sizeof(struct big) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&big_ops);
}
module_init(big_register);
"#;

#[test]
fn the_form_of_the_v2alpha_tree_gets_what_it_needs() {
    let (_folder, built) = build(&[("tcp_big.c", V2ALPHA)]);
    let mut modules = Modules::new();
    modules.add(&built.unwrap()).unwrap();
    let (cca, mut sk) = flow(&modules, "big", &Params::new());
    let rs = RateSample {
        delivered: 10,
        interval_us: 1000,
        tx_in_flight: 7,
        lost: 2,
        ..RateSample::default()
    };
    cca.cong_control(&mut sk, 0, 0, &rs);
    assert_eq!((sk.snd_cwnd, sk.sk_pacing_rate), (7 + 2 + 250, 14_480_000));
    assert_eq!(cca.tso_segs(&mut sk), Some(10));
    sk.lost = 9;
    let burst = LostBurst { segs: 3, tx_in_flight: 40, lost_at_send: 4, ..LostBurst::default() };
    assert!(cca.wants_losses());
    cca.skb_marked_lost(&mut sk, &burst);
    let info = cca.info(&sk);
    assert_eq!(info.bw(), Some(1 << 32));
    assert_eq!((info.min_rtt_us(), info.inflight_hi()), (Some(40_005), Some(3)));
}

/// What Google's v3 tree adds: tail loss probes, namespace settings, names for BPF, a version.
const V3: &str = r#"
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/module.h>
#include <net/tcp.h>
static u32 answer;
static u32 threshold(struct sock *sk) { return answer; }
static u32 three_undo(struct sock *sk) { return tcp_sk(sk)->rack.rtt_us; }
static void three_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_TLP_RECOVERY)
		answer = 10 + tcp_sk(sk)->tlp_orig_data_app_limited;
}
static void three_main(struct sock *sk, const struct rate_sample *rs)
{
	struct net *net = sock_net(sk);

	answer = rs->is_acking_tlp_retrans_seq + net->ipv4.sysctl_tcp_min_tso_segs +
		 READ_ONCE(net->ipv4.sysctl_tcp_plb_enabled);
}
static u32 three_tso_segs(struct sock *sk, unsigned int mss) { return 2; }
static struct tcp_congestion_ops three_ops __read_mostly = {
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_WANTS_CE_EVENTS, .name = "three",
	.cwnd_event = three_event, .cong_control = three_main, .tso_segs = three_tso_segs,
	.ssthresh = threshold, .undo_cwnd = three_undo,
};
BTF_SET8_START(three_ids)
#ifdef CONFIG_X86
BTF_ID_FLAGS(func, three_main)
#endif
BTF_SET8_END(three_ids)
static const struct btf_kfunc_id_set three_set = { .owner = THIS_MODULE, .set = &three_ids };
static int __init three_register(void)
{
	int ret = register_btf_kfunc_id_set(BPF_PROG_TYPE_STRUCT_OPS, &three_set);

	return ret < 0 ? ret : tcp_register_congestion_control(&three_ops);
}
module_init(three_register);
MODULE_VERSION(__stringify(3));
"#;

#[test]
fn the_form_of_the_v3_tree_is_told_of_loss_probes() {
    let (_folder, built) = build(&[("tcp_three.c", V3)]);
    let mut modules = Modules::new();
    modules.add(&built.unwrap()).unwrap();
    let (cca, mut sk) = flow(&modules, "three", &Params::new());
    let rs = RateSample { is_acking_tlp_retrans_seq: true, ..RateSample::default() };
    cca.cong_control(&mut sk, 0, 0, &rs);
    assert_eq!(cca.ssthresh(&mut sk), 1 + 2, "min_tso_segs is 2 in Linux");
    (sk.tlp_orig_data_app_limited, sk.rack_rtt_us) = (1, 77);
    cca.cwnd_event(&mut sk, CaEvent::TlpRecovery);
    assert_eq!((cca.ssthresh(&mut sk), cca.undo_cwnd(&mut sk)), (11, 77));
}

#[test]
fn the_form_of_linux_4_9_says_how_large_bursts_should_be() {
    let text = "#include <linux/module.h>\n#include <net/tcp.h>\nstatic u32 goal;\n\
        static u32 half(struct sock *sk) { return tcp_mss_to_mtu(sk, tcp_sk(sk)->mss_cache); }\n\
        static u32 old_goal(struct sock *sk) { return goal; }\n\
        static void old_main(struct sock *sk, const struct rate_sample *rs)\n\
        { goal = 3 * tcp_tso_autosize(sk, tcp_sk(sk)->mss_cache, 2); }\n\
        static struct tcp_congestion_ops old_ops = { .name = \"old\", .cong_control = old_main,\n\
        .tso_segs_goal = old_goal, .ssthresh = half, .undo_cwnd = tcp_reno_undo_cwnd };\n\
        static int __init start(void) { return tcp_register_congestion_control(&old_ops); }\n\
        module_init(start);";
    let (_folder, built) = build(&[("tcp_old.c", text)]);
    let mut modules = Modules::new();
    modules.add(&built.unwrap()).unwrap();
    let (cca, mut sk) = flow(&modules, "old", &Params::new());
    assert_eq!(cca.ssthresh(&mut sk), 1500);
    sk.sk_pacing_rate = 5 * 1448 * 1024;
    assert_eq!(cca.tso_segs(&mut sk), Some(5), "no goal yet: what leaves in a 1024th of a second");
    cca.cong_control(&mut sk, 0, 0, &RateSample::default());
    assert_eq!(cca.tso_segs(&mut sk), Some(15));
}
