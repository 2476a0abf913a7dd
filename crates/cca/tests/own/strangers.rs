//! Modules as strangers write them: other kernels' forms, more state than Linux grants, options of the socket, and what
//! is refused with its line.

use super::{build, error, flow, module, params, Params};
use cca::{Modules, RateSample};

fn answer(body: &str, given: &Params) -> u32 {
    let (_folder, built) = build(&[("tcp_mine.c", &module(body))]);
    let mut modules = Modules::new();
    modules.add(&built.unwrap()).unwrap();
    let (cca, mut sk) = flow(&modules, "mine", given);
    (sk.bytes_acked, sk.bytes_sent, sk.bytes_retrans) = (1, 20, 300);
    (sk.tcp_mstamp, sk.delivered_mstamp, sk.jiffies) = (8_000_000, 4_000_000, 2000);
    cca.ssthresh(&mut sk)
}

#[test]
fn every_flow_has_512_bytes_of_state() {
    let body = "static u32 threshold(struct sock *sk)\n\
        { u8 *state = inet_csk_ca(sk); int i; for (i = 0; i < 512; i++) state[i] = 1; return state[511]; }";
    assert_eq!(answer(body, &Params::new()), 1);
}

#[test]
fn release_is_called_once_for_each_flow() {
    let text = module("static u32 open;\nstatic u32 threshold(struct sock *sk) { return open; }\n\
        static void mine_init(struct sock *sk) { open++; }\nstatic void mine_release(struct sock *sk) { open--; }")
        .replace(".name", ".init = mine_init, .release = mine_release, .name");
    let (_folder, built) = build(&[("tcp_mine.c", &text)]);
    let mut modules = Modules::new();
    modules.add(&built.unwrap()).unwrap();
    let (first, mut one) = flow(&modules, "mine", &Params::new());
    let (second, mut two) = flow(&modules, "mine", &Params::new());
    assert_eq!(first.ssthresh(&mut one), 2);
    second.release(&mut two);
    assert_eq!(first.ssthresh(&mut one), 1);
}

#[test]
fn the_socket_counts_bytes() {
    let body = "static u32 threshold(struct sock *sk) { struct tcp_sock *tp = tcp_sk(sk);\n\
        return tp->bytes_acked + tp->bytes_sent + tp->bytes_retrans; }";
    assert_eq!(answer(body, &Params::new()), 321);
}

#[test]
fn stamps_of_before_linux_4_13_have_both_clocks() {
    let body = "static u32 threshold(struct sock *sk) {\n\
        struct tcp_sock *tp = tcp_sk(sk);\n\
        struct skb_mstamp then = tp->delivered_mstamp;\n\
        u32 ticks = tcp_time_stamp - tp->delivered_mstamp.stamp_jiffies;\n\
        return skb_mstamp_us_delta(&tp->tcp_mstamp, &then) / 1000 + 10000 * ticks; }";
    assert_eq!(answer(body, &Params::new()), 4000 + 10_000 * (2000 - 4 * 250));
}

#[test]
fn names_for_bpf_have_the_forms_of_all_kernels() {
    let body = "BTF_SET_START(ids)\n#ifdef CONFIG_X86\nBTF_ID(func, threshold)\n#endif\nBTF_SET_END(ids)\n\
        static const struct btf_kfunc_id_set set = { .owner = THIS_MODULE, .check_set = &ids };\n\
        static DEFINE_KFUNC_BTF_ID_SET(&ids, old_set);\n\
        static u32 threshold(struct sock *sk) {\n\
        register_kfunc_btf_id_set(&bpf_tcp_ca_kfunc_list, &old_set);\n\
        unregister_kfunc_btf_id_set(&bpf_tcp_ca_kfunc_list, &old_set);\n\
        return 5 + register_btf_kfunc_id_set(BPF_PROG_TYPE_STRUCT_OPS, &set); }";
    assert_eq!(answer(body, &Params::new()), 5);
}

#[test]
fn headers_have_the_limits_and_functions_of_the_kernel() {
    let body = "#include <linux/stddef.h>\n#include <linux/uaccess.h>\n\
        static int shown = 1;\nmodule_param_unsafe(shown, int, 0444);\n\
        static u32 threshold(struct sock *sk) {\n\
        char text[4]; int copied = 0, user = 7; ktime_t now = ktime_get();\n\
        printk(KERN_NOTICE \"a\"); pr_cont(\"b\"); printk(KERN_CONT \"c\");\n\
        if (S64_MIN != -S64_MAX - 1 || S16_MIN != -32768 || LONG_MIN >= 0 || LLONG_MAX != S64_MAX)\n\
        return 1;\n\
        if (SHRT_MAX != 32767 || roundup_pow_of_two(33) != 64 || umin(3, 4UL) != 3 || umax(3, 4UL) != 4)\n\
        return 2;\n\
        if (!ktime_after(ktime_add_us(now, 1), now) || !ktime_before(now, ktime_add_us(now, 1)))\n\
        return 3;\n\
        if (strscpy(text, \"abcdef\", sizeof(text)) != -7 || strcmp(text, \"abc\"))\n\
        return 4;\n\
        if (copy_from_user(&copied, &user, sizeof(user)) || copied != 7 || ktime_get_seconds() < 0)\n\
        return 5;\n\
        return 10 + tcp_needs_internal_pacing(sk); }";
    assert_eq!(answer(body, &Params::new()), 10);
}

/// The form of tcp-brutal: its rate comes by an option of the socket.
const OPTION: &str = r#"
#define TCP_BRUTAL_PARAMS 23301
struct wanted { u64 rate; u32 cwnd_gain; } __packed;
static struct proto with_option;
static u32 asked;
static int set_option(struct sock *sk, int level, int optname, sockptr_t optval, unsigned int optlen)
{
	struct wanted wanted;

	if (level != IPPROTO_TCP || optname != TCP_BRUTAL_PARAMS)
		return tcp_prot.setsockopt(sk, level, optname, optval, optlen);
	if (copy_from_sockptr(&wanted, optval, sizeof(wanted)))
		return -EFAULT;
	asked = wanted.rate + wanted.cwnd_gain;
	return 0;
}
static void mine_init(struct sock *sk)
{
	with_option = tcp_prot;
	with_option.setsockopt = set_option;
	sk->sk_prot = &with_option;
}
static u32 threshold(struct sock *sk) { return asked; }
"#;

#[test]
fn tcp_brutals_rate_is_a_parameter() {
    let text = module(OPTION).replace(".name", ".init = mine_init, .name");
    let (_folder, built) = build(&[("tcp_mine.c", &text)]);
    let mut modules = Modules::new();
    modules.add(&built.unwrap()).unwrap();
    for (given, answer) in [(Params::new(), 0), (params(&[("rate", 500), ("cwnd_gain", 15)]), 515)]
    {
        let (cca, mut sk) = flow(&modules, "mine", &given);
        assert_eq!(cca.ssthresh(&mut sk), answer);
    }
}

#[test]
fn a_window_of_none_and_a_burst_of_none_are_warned_of_once() {
    let text = module("static u32 threshold(struct sock *sk) { tcp_sk(sk)->snd_cwnd = 0; WARN_ON(sk); return 2; }\n\
        static u32 burst(struct sock *sk) { return 0; }")
        .replace(".name", ".min_tso_segs = burst, .name");
    let (_folder, built) = build(&[("tcp_mine.c", &text)]);
    let mut modules = Modules::new();
    modules.add(&built.unwrap()).unwrap();
    let (cca, mut sk) = flow(&modules, "mine", &Params::new());
    cca::take_warnings();
    sk.tcp_clock_cache = cca::BOOT.as_ns() + 1_500_000_000;
    for _ in 0..3 {
        cca.ssthresh(&mut sk);
        cca.min_tso_segs(&mut sk);
    }
    let told = cca::take_warnings();
    let at = "first at 1.500000 s";
    assert!(told[0].starts_with("mine: ") && told[0].ends_with(&format!("WARN_ON(sk), {at}")));
    assert_eq!(
        told[1..],
        [
            format!("mine: ssthresh() leaves snd_cwnd at 0, {at}"),
            format!("mine: min_tso_segs() answers 0 segments, so nothing may be sent, {at}"),
        ]
    );
}

#[test]
fn headers_beside_the_source_are_known() {
    let text =
        module("#include \"knob.h\"\nstatic u32 threshold(struct sock *sk) { return KNOB; }");
    let (folder, built) = build(&[("tcp_mine.c", &text), ("knob.h", "#define KNOB 20\n")]);
    assert_eq!(built.unwrap().headers, [folder.path().join("knob.h")]);
}

#[test]
fn what_a_kernel_would_not_take_is_refused_with_its_reason() {
    let floats = "error: floating point, which code in a kernel may not use";
    let body = "static volatile u32 three = 3;\nstatic u32 threshold(struct sock *sk) { return three * 1.5; }";
    let said = error(&[("tcp_mine.c", &module(body))]);
    assert!(said.starts_with("tcp_mine.c:4:") && said.ends_with(floats), "{said}");
    let body = "static u32 half(double v) { return v / 2; }\nstatic u32 threshold(struct sock *sk) { return half(sk->sk_pacing_rate); }";
    assert!(error(&[("tcp_mine.c", &module(body))]).ends_with(floats));
    let twice = module("static u32 threshold(struct sock *sk) { return 2; }").replace(
        "return tcp_register_congestion_control(&ops);",
        "tcp_register_congestion_control(&ops); return tcp_register_congestion_control(&ops);",
    );
    assert_eq!(
        error(&[("tcp_mine.c", &twice)]),
        "it registers a second congestion control; wanted one"
    );
    // cong_control() has two arguments, and something else is wrong as well: that is what is said.
    let old = module(
        "static u32 threshold(struct sock *sk) { return tcp_sk(sk)->nosuch; }\n\
        static void mine_main(struct sock *sk, const struct rate_sample *rs) { }",
    )
    .replace(".name", ".cong_control = mine_main, .name");
    assert!(error(&[("tcp_mine.c", &old)]).contains("nosuch"));
}

/// A controller in our style whose window after a loss is `body`'s.
fn ours(before: &str, body: &str) -> String {
    format!(
        "/* Mine. */\n#include \"cca.h\"\nCCA_NO_PARAMS;\nCCA_NO_STATES;\nCCA_NO_STATE;\n{before}\n\
         CCA_OP(u32, mine_ssthresh, struct sock *sk)\n{{\n{body}\n}}\n\
         CCA_OP(void, mine_cong_avoid, struct sock *sk, u32 ack, u32 acked) {{ }}\n\
         CCA_OP(u32, mine_undo_cwnd, struct sock *sk)\n{{\n\treturn tcp_sk(sk)->prior_cwnd;\n}}\n\
         CCA_MODULE(mine, \"mine\", 0, .ssthresh = mine_ssthresh, .cong_avoid = mine_cong_avoid, .undo_cwnd = mine_undo_cwnd);\n"
    )
}

#[test]
fn what_cca_h_does_not_have_is_refused_in_the_simulator_too() {
    let refused = |before: &str, body: &str| error(&[("mine.c", &ours(before, body))]);
    let floats = "error: floating point, which code in a kernel may not use";
    for body in
        ["\treturn tcp_sk(sk)->snd_cwnd * 0.7;", "\treturn max(tcp_sk(sk)->snd_cwnd * 0.7, 2U);"]
    {
        let said = refused("", body);
        assert!(said.starts_with("mine.c:") && said.ends_with(floats), "{said}");
    }
    let said = refused("static u32 hits;", "\treturn ++hits;");
    assert!(
        said.starts_with("mine.c:6: error: `hits` is a variable that all flows would share"),
        "{said}"
    );
    let said = refused("", "\tstatic u32 most = 7;\n\tmost += 2;\n\treturn most;");
    assert!(said.starts_with("mine.c:9: error: `most` is a variable"), "{said}");
    let said = refused("int puts(const char *text);", "\treturn puts(\"hello\");");
    assert_eq!(said, "mine.c:6: error: `puts` is not there: a controller has no C library");
    let written = "; of the socket, a controller may write the fields that kernel.h marks W";
    for body in [
        "\ttcp_sk(sk)->srtt_us = 8000;",
        "\tinet_csk(sk)->icsk_retransmits++;",
        "\ttcp_sk(sk)->rtt_min.s[0].v = 1;",
    ] {
        let said = refused("", &format!("{body}\n\treturn 2;"));
        assert!(said.starts_with("mine.c:9:") && said.ends_with(written), "{said}");
    }
    // Constants, and what a compiler calls by itself, are nothing to refuse.
    let (_folder, built) = build(&[(
        "mine.c",
        &ours("static const u32 steps[] = { 2, 3, 5 };\nstatic const char *const names[] = { \"a\" };",
            "\tu32 far[64];\n\t__builtin_memset(far, tcp_sk(sk)->snd_cwnd, sizeof(far));\n\treturn steps[far[3] % 3] + names[0][0];"),
    )]);
    assert_eq!(built.map(|built| built.headers.len()).unwrap(), 0);
}

#[test]
fn an_error_in_the_arguments_of_a_macro_is_in_the_line_that_uses_it() {
    let said = error(&[("mine.c", &ours("", "\treturn max(tcp_sk(sk)->snd_cwnd / , 2U);"))]);
    assert!(said.starts_with("mine.c:9:") && said.contains("expected expression"), "{said}");
}

#[test]
fn a_cong_control_of_two_arguments_gets_the_sample() {
    let text = module("static u32 seen;\nstatic u32 threshold(struct sock *sk) { return seen; }\n\
        static void mine_main(struct sock *sk, const struct rate_sample *rs) { seen = rs->delivered; }")
        .replace(".name", ".cong_control = mine_main, .name");
    let (_folder, built) = build(&[("tcp_mine.c", &text)]);
    let mut modules = Modules::new();
    modules.add(&built.unwrap()).unwrap();
    let (cca, mut sk) = flow(&modules, "mine", &Params::new());
    cca.cong_control(&mut sk, 0, 0, &RateSample { delivered: 9, ..RateSample::default() });
    assert_eq!(cca.ssthresh(&mut sk), 9);
}
