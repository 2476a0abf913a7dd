//! A user's own controllers: compiled at run time, loaded, kept apart, and what they are told when they
//! are wrong. The modules here are ours, in the form that Linux and Google's v2alpha tree have.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cca::{compile, BuildError, Built, Controller, LostBurst, Modules, RateSample, TcpSock};
use tempfile::TempDir;

type Params = BTreeMap<String, i64>;

fn params(pairs: &[(&str, i64)]) -> Params {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value)).collect()
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/examples").join(name)
}

/// Files in a folder of their own, the first of which is compiled.
fn build(files: &[(&str, &str)]) -> (TempDir, Result<Built, BuildError>) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let built = compile(&folder.path().join(files[0].0), &out, 250);
    (folder, built)
}

fn flow(modules: &Modules, name: &str, given: &Params) -> (Controller, Box<TcpSock>) {
    let cca = modules.controller(name, given).unwrap();
    let mut sk = TcpSock::new();
    cca.attach(&mut sk, 250, 1);
    cca.init(&mut sk);
    sk.is_cwnd_limited = 1;
    (cca, sk)
}

/// The error's text, which names the file by its last part only.
fn error(files: &[(&str, &str)]) -> String {
    let (folder, built) = build(files);
    let text = match built {
        Ok(built) => built.open().map(|_| "no error").unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    text.replace(&format!("{}/", folder.path().display()), "")
}

/// A module with a variable of its own, `rounds`, and hooks that come from `body`.
fn module(body: &str) -> String {
    format!(
        "#include <linux/module.h>\n#include <net/tcp.h>\n{body}\n\
         static struct tcp_congestion_ops ops = {{ .ssthresh = threshold, .name = \"mine\",\n\
         .undo_cwnd = tcp_reno_undo_cwnd, .cong_avoid = tcp_reno_cong_avoid }};\n\
         static int __init start(void) {{ return tcp_register_congestion_control(&ops); }}\n\
         module_init(start);\nMODULE_LICENSE(\"GPL\");\n"
    )
}

const COUNTER: &str = "static int from = 5;\nmodule_param(from, int, 0644);\n\
    MODULE_PARM_DESC(from, \"first answer\");\nstatic u32 calls;\n\
    static u32 threshold(struct sock *sk) { return from + calls++; }";

#[test]
fn the_example_module_runs_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let built = compile(&example("tcp_steady.c"), folder.path(), 1000).unwrap();
    let module = built.open().unwrap();
    assert_eq!((module.name(), module.license()), ("steady", "Dual BSD/GPL"));
    assert!(module.doc().starts_with("TCP Steady: an example"), "{}", module.doc());
    let told: Vec<_> = module.params().iter().map(|p| (p.name, p.default, p.min, p.max)).collect();
    let int = (i64::from(i32::MIN), i64::from(i32::MAX));
    assert_eq!(told, [("alpha", 1, int.0, int.1), ("beta", 717, int.0, int.1)]);
    assert_eq!(module.params()[1].doc, "share of the window kept after a loss (in 1/1024)");

    let mut modules = Modules::new();
    modules.add(&built).unwrap();
    let (cca, mut sk) = flow(&modules, "steady", &params(&[("beta", 512)]));
    cca.cong_avoid(&mut sk, 0, 10);
    assert_eq!((sk.snd_cwnd, cca.ssthresh(&mut sk)), (20, 10));
    sk.snd_cwnd = 12;
    assert_eq!(cca.undo_cwnd(&mut sk), 20);
}

#[test]
fn the_example_in_our_style_has_parameters_per_flow() {
    let folder = tempfile::tempdir().unwrap();
    let built = compile(&example("gentle.c"), folder.path(), 1000).unwrap();
    let mut modules = Modules::new();
    assert_eq!(modules.add(&built).unwrap(), "gentle");
    let cuts = [512, 1000].map(|beta| {
        let (cca, mut sk) = flow(&modules, "gentle", &params(&[("beta", beta)]));
        sk.snd_cwnd = 1024;
        cca.ssthresh(&mut sk)
    });
    assert_eq!(cuts, [512, 1000]);
}

#[test]
fn variables_belong_to_one_run_and_one_set_of_parameters() {
    let (_folder, built) = build(&[("tcp_mine.c", &module(COUNTER))]);
    let built = built.unwrap();
    let run = || {
        let mut modules = Modules::new();
        modules.add(&built).unwrap();
        modules
    };
    let (one, two) = (run(), run());
    let ask = |modules: &Modules, given: &Params| {
        let (cca, mut sk) = flow(modules, "mine", given);
        cca.ssthresh(&mut sk)
    };
    let plain = Params::new();
    assert_eq!(
        [ask(&one, &plain), ask(&one, &plain)],
        [5, 6],
        "flows of a run share, as in a kernel"
    );
    assert_eq!(ask(&one, &params(&[("from", 50)])), 50, "another set of parameters does not");
    assert_eq!(ask(&two, &plain), 5, "another run does not");
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let modules = run();
            std::thread::spawn(move || {
                let (cca, mut sk) = flow(&modules, "mine", &Params::new());
                (0..1000).map(|_| cca.ssthresh(&mut sk)).last()
            })
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), Some(1004));
    }
}

#[test]
fn parameters_are_checked_by_type_and_by_the_module() {
    let body = "static bool on;\nmodule_param(on, bool, 0444);\nstatic unsigned int shift = 4;\n\
        static int set_shift(const char *v, const struct kernel_param *kp)\n\
        { return param_set_uint_minmax(v, kp, 0, 10); }\n\
        static const struct kernel_param_ops shift_ops = { .set = set_shift, .get = param_get_uint };\n\
        module_param_cb(shift, &shift_ops, &shift, 0644);\n\
        static u32 threshold(struct sock *sk) { return on * 100 + shift; }";
    let (_folder, built) = build(&[("tcp_mine.c", &module(body))]);
    let mut modules = Modules::new();
    modules.add(&built.unwrap()).unwrap();
    let told = |given: &[(&str, i64)]| match modules.controller("mine", &params(given)) {
        Ok(_) => panic!("{given:?} accepted"),
        Err(error) => error.to_string(),
    };
    assert_eq!(told(&[("on", 2)]), "mine: `on` must be 0 to 1 bool, got 2");
    assert_eq!(told(&[("shift", 11)]), "parameter `shift` refuses 11");
    assert_eq!(told(&[("shif", 1)]), "mine has no parameter `shif`; did you mean `shift`?");
    let (cca, mut sk) = flow(&modules, "mine", &params(&[("on", 1), ("shift", 9)]));
    assert_eq!(cca.ssthresh(&mut sk), 109);
}

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

#[test]
fn a_symbol_that_a_file_beside_it_exports_is_linked_along() {
    let main = module(
        "extern u32 shared_half(u32 v);\n\
         static u32 threshold(struct sock *sk) { return shared_half(tcp_sk(sk)->snd_cwnd); }",
    );
    let other = module(
        "static int unused = 1;\nmodule_param(unused, int, 0);\n\
         u32 shared_half(u32 v) { return v / 2; }\nEXPORT_SYMBOL_GPL(shared_half);\n\
         static u32 threshold(struct sock *sk) { return 0; }",
    );
    let (_folder, built) = build(&[("tcp_mine.c", &main), ("tcp_shared.c", &other)]);
    let built = built.unwrap();
    assert_eq!(built.companions.len(), 1);
    let mut modules = Modules::new();
    modules.add(&built).unwrap();
    let (cca, mut sk) = flow(&modules, "mine", &Params::new());
    assert_eq!(cca.ssthresh(&mut sk), 5);
    assert!(cca.module().params().is_empty(), "its parameters are not ours");
}

#[test]
fn errors_name_the_line_and_what_is_missing() {
    let answers = "static u32 threshold(struct sock *sk) { return 2; }";
    let cases = [
        ("#include <linux/netlink.h>\n", "tcp_mine.c:1:", "linux/netlink.h: No such file"),
        ("#include <net/tcp.h>\nvoid f(void) { tcp_frobnicate(); }", "tcp_mine.c:2:", "tcp_frobnicate"),
        ("#include <net/tcp.h>\nvoid f(struct sock *sk) { tcp_sk(sk)->nosuch = 1; }", "tcp_mine.c:2:", "nosuch"),
        ("#include <net/tcp.h>\nextern int elsewhere(int);\nint f(void) { return elsewhere(1); }", "tcp_mine.c:2:", "`elsewhere` is not defined"),
        ("#include <net/tcp.h>\nstruct s { char c[105]; };\nvoid f(void) { BUILD_BUG_ON(sizeof(struct s) > ICSK_CA_PRIV_SIZE); }", "tcp_mine.c:3:", "BUILD_BUG_ON"),
        ("#include <net/tcp.h>\n", "", "it has no module_init()"),
        ("#include <linux/module.h>\nstatic int __init f(void) { return 0; }\nmodule_init(f);", "", "registers no congestion control"),
        ("#include <linux/module.h>\nstatic int __init f(void) { return -12; }\nmodule_init(f);", "", "registers no congestion control"),
        ("#include <net/tcp.h>\n#include <linux/module.h>\nstatic struct tcp_congestion_ops o = { .name = \"x\" };\nstatic int f(void) { return tcp_register_congestion_control(&o); }\nmodule_init(f);", "", "without ssthresh, undo_cwnd"),
        ("#include \"cca.h\"\nint x = nothing;\n", "tcp_mine.c:2:", "nothing"),
        ("#include \"cca.h\"\nint x;\n", "", "no `cca_module_tcp_mine`"),
    ];
    for (text, place, what) in cases {
        let said = error(&[("tcp_mine.c", text)]);
        assert!(said.starts_with(place) && said.contains(what), "{text}\n=> {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    assert_eq!(build(&[("tcp_mine.c", &module(answers))]).1.unwrap().companions.len(), 0);
}
