//! BPF programs of a congestion control, in the forms that the kernel's selftests and others have: they run as modules do.

use super::{build, error, flow, Params};
use cca::{Modules, RateSample};

const HEADS: &str =
    "#include \"vmlinux.h\"\n#include <bpf/bpf_helpers.h>\n#include <bpf/bpf_tracing.h>\n";
const HELPERS: &str = "\
static inline struct tcp_sock *tcp_sk(const struct sock *sk) { return (struct tcp_sock *)sk; }\n";

/// A program with the hook ssthresh, whose body is given, and what else it has.
fn program(head: &str, before: &str, body: &str, more: &str) -> String {
    format!(
        "{head}char _license[] SEC(\"license\") = \"GPL\";\n{before}\n\
         SEC(\"struct_ops\")\n__u32 BPF_PROG(mine_ssthresh, struct sock *sk)\n{{\n{body}\n}}\n\
         SEC(\"struct_ops\")\n__u32 BPF_PROG(mine_undo, struct sock *sk) {{ return 2; }}\n\
         SEC(\"struct_ops\")\nvoid BPF_PROG(mine_avoid, struct sock *sk, __u32 ack, __u32 acked) {{ }}\n\
         SEC(\".struct_ops\")\nstruct tcp_congestion_ops mine = {{\n\t.ssthresh = (void *)mine_ssthresh,\n\
         \t.undo_cwnd = (void *)mine_undo, .cong_avoid = (void *)mine_avoid, {more} .name = \"mine\" }};\n"
    )
}

fn answer(text: &str) -> u32 {
    let (_folder, built) = build(&[("mine.bpf.c", text)]);
    let built = built.unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(built.open().unwrap().license(), "GPL");
    let mut modules = Modules::new();
    modules.add(&built).unwrap();
    let (cca, mut sk) = flow(&modules, "mine", &Params::new());
    (sk.tcp_mstamp, sk.jiffies, sk.snd_nxt) = (8_000_000, 2000, 70);
    cca.ssthresh(&mut sk)
}

#[test]
fn all_forms_of_headers_are_taken() {
    let tracing = "#include \"bpf_tracing_net.h\"\n#include <bpf/bpf_tracing.h>\n";
    let old = "#include <linux/bpf.h>\n#include <linux/types.h>\n#include <bpf/bpf_helpers.h>\n#include <bpf/bpf_tracing.h>\n\
        #include \"bpf_tcp_helpers.h\"\n";
    for (head, before, body, value) in [
        (HEADS, HELPERS, "\treturn tcp_sk(sk)->snd_cwnd;", 10),
        (tracing, "", "\treturn tcp_sk(sk)->snd_cwnd + (__u32)tcp_jiffies32;", 2010),
        (old, "", "\treturn max(tcp_sk(sk)->snd_cwnd >> 1U, 2U) + before(1, 2);", 6),
        (old, "extern unsigned long CONFIG_HZ __kconfig;\n#define HZ CONFIG_HZ", "\treturn HZ;", 250),
        // What a program defines itself stands, whatever else has a name like it.
        (tracing, "#define min(a, b) 3\nstatic bool before(__u32 a, __u32 b) { return a < b; }", "\treturn min(1, 2) + before(1, 2);", 4),
        (tracing, "extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;", "\treturn tcp_slow_start(tcp_sk(sk), 4) + tcp_sk(sk)->snd_cwnd;", 14),
        (HEADS, HELPERS, "\tstruct tcp_sock *tp = tcp_sk(sk);\n\treturn BPF_CORE_READ(tp, snd_nxt) + BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);", 71),
        (HEADS, "", "\t__u32 v;\n\tbpf_core_read(&v, 4, &((struct tcp_sock *)sk)->snd_nxt);\n\treturn v;", 70),
        (HEADS, "const volatile int share = 5;\n#include <stdbool.h>", "\tbool one = true;\n\treturn share + one;", 6),
        (HEADS, "struct own_state { __u32 v; } __attribute__((preserve_access_index));", "\treturn sizeof(struct own_state);", 4),
        (HEADS, "", "\treturn (__u32)bpf_jiffies64() + (bpf_ktime_get_ns() == 0) + (bpf_get_prandom_u32() == 0);", 2001),
        (HEADS, "", "\t__u32 i, sum = 0;\n\tbpf_for(i, 0, 5) sum += i;\n\tbpf_printk(\"%d\", sum);\n\treturn sum;", 10),
    ] {
        assert_eq!(answer(&program(head, before, body, "")), value, "{head}{before}\n{body}");
    }
}

#[test]
fn maps_and_storage_of_sockets_are_kept() {
    let map = |kind: &str, most: u32| {
        format!(
            "struct {{\n\t__uint(type, {kind});\n\t__uint(max_entries, {most});\n\t__type(key, __u32);\n\t__type(value, __u64);\n}} seen SEC(\".maps\");"
        )
    };
    let put = "\t__u32 k, n = 0;\n\t__u64 v, *p;\n\tfor (k = 0; k < 5; k++) {\n\t\tv = k * 10;\n\
        \t\tif (bpf_map_update_elem(&seen, &k, &v, BPF_ANY))\n\t\t\tn += 1000;\n\t}\n";
    for (kind, most, body, value) in [
        ("BPF_MAP_TYPE_HASH", 8, "\tk = 3;\n\tp = bpf_map_lookup_elem(&seen, &k);\n\treturn n + (p ? *p : 7);", 30),
        ("BPF_MAP_TYPE_HASH", 3, "\treturn n;", 2000),
        ("BPF_MAP_TYPE_LRU_HASH", 3, "\tfor (k = 0; k < 5; k++)\n\t\tn += !!bpf_map_lookup_elem(&seen, &k);\n\treturn n;", 3),
        ("BPF_MAP_TYPE_ARRAY", 5, "\tk = 4;\n\tp = bpf_map_lookup_elem(&seen, &k);\n\t*p += 1;\n\treturn n + *p;", 41),
        ("BPF_MAP_TYPE_ARRAY", 2, "\tk = 4;\n\treturn n + !bpf_map_lookup_elem(&seen, &k);", 3001),
        ("BPF_MAP_TYPE_HASH", 8, "\tk = 2;\n\tn = bpf_map_delete_elem(&seen, &k);\n\treturn n + !bpf_map_lookup_elem(&seen, &k);", 1),
    ] {
        assert_eq!(answer(&program(HEADS, &map(kind, most), &format!("{put}{body}"), "")), value, "{kind} {body}");
    }
    let storage = "struct {\n\t__uint(type, BPF_MAP_TYPE_SK_STORAGE);\n\t__uint(map_flags, BPF_F_NO_PREALLOC);\n\
        \t__type(key, int);\n\t__type(value, int);\n} stored SEC(\".maps\");";
    let body = "\tint *v = bpf_sk_storage_get(&stored, (void *)sk, 0, 0), *made;\n\
        \tmade = bpf_sk_storage_get(&stored, (void *)sk, 0, BPF_SK_STORAGE_GET_F_CREATE);\n\t*made = 9;\n\
        \treturn !v + *(int *)bpf_sk_storage_get(&stored, (void *)sk, 0, 0);";
    assert_eq!(answer(&program(HEADS, storage, body, "")), 10);
}

#[test]
fn old_macros_and_both_forms_of_cong_control_are_taken() {
    for arguments in [
        "struct sock *sk, const struct rate_sample *rs",
        "struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs",
    ] {
        let before = format!(
            "static __u32 seen;\nSEC(\"struct_ops\") void BPF_PROG(mine_main, {arguments}) {{ seen = rs->delivered; }}"
        );
        let text = program(HEADS, &before, "\treturn seen;", ".cong_control = (void *)mine_main,");
        let (_folder, built) = build(&[("mine.bpf.c", &text)]);
        let mut modules = Modules::new();
        modules.add(&built.unwrap()).unwrap();
        let (cca, mut sk) = flow(&modules, "mine", &Params::new());
        cca.cong_control(&mut sk, 0, 0, &RateSample { delivered: 9, ..RateSample::default() });
        assert_eq!(cca.ssthresh(&mut sk), 9, "{arguments}");
    }
    let old = "#include \"bpf_tcp_helpers.h\"\nchar _license[] SEC(\"license\") = \"GPL\";\n\
        BPF_TCP_OPS_1(old_ssthresh, __u32, struct sock *, sk)\n{ return tcp_sk(sk)->snd_cwnd + 1; }\n\
        BPF_TCP_OPS_1(old_undo, __u32, struct sock *, sk)\n{ return 2; }\n\
        BPF_TCP_OPS_3(tcp_reno_cong_avoid, void, struct sock *, sk, __u32, ack, __u32, acked)\n{ }\n\
        SEC(\".struct_ops\") struct tcp_congestion_ops half = { .ssthresh = (void *)old_ssthresh, .name = \"half\" };\n\
        SEC(\".struct_ops.link\") struct tcp_congestion_ops old = { .ssthresh = (void *)old_ssthresh,\n\
        .undo_cwnd = (void *)old_undo, .cong_avoid = (void *)tcp_reno_cong_avoid, .name = \"mine\" };\n";
    assert_eq!(answer(old), 11);
}

#[test]
fn copies_of_the_kernels_headers_are_kept_out() {
    let text = program(HEADS, HELPERS, "\treturn tcp_sk(sk)->snd_cwnd;", "");
    let vmlinux = "#ifndef __VMLINUX_H__\n#define __VMLINUX_H__\nstruct tcp_sock { char other[9]; };\n#endif\n";
    let (_folder, built) = build(&[("mine.bpf.c", &text), ("vmlinux.h", vmlinux)]);
    assert!(built.unwrap().open().is_ok());
}

#[test]
fn what_is_no_congestion_control_is_said_in_one_line() {
    let half = "#include \"vmlinux.h\"\n#include <bpf/bpf_helpers.h>\nSEC(\"struct_ops\") __u32 half(struct sock *sk) { return 2; }\n\
        SEC(\".struct_ops\") struct tcp_congestion_ops mine = { .ssthresh = (void *)half, .name = \"half\" };";
    let xdp = "#include \"vmlinux.h\"\n#include <bpf/bpf_helpers.h>\nSEC(\"xdp\") int drop(void *ctx) { return 1; }";
    let whole = program(HEADS, "", "\treturn 2;", "");
    let two = format!(
        "{whole}{}",
        whole
            .rsplit_once("SEC(\".struct_ops\")")
            .map(|(_, last)| {
                format!("SEC(\".struct_ops\")\n{}", last.replace("ops mine", "ops other"))
            })
            .unwrap()
    );
    for (text, said) in [
        (half.to_owned(), "a BPF program (SEC(\".struct_ops\")) whose struct tcp_congestion_ops lacks ssthresh, undo_cwnd"),
        (xdp.to_owned(), "mine.bpf.c: a BPF program without a struct tcp_congestion_ops"),
        (two, "with several struct tcp_congestion_ops"),
        (whole.replace("struct tcp_congestion_ops mine", "static struct tcp_congestion_ops mine"), "is static, wanted one that is not"),
        (program(HEADS, "", "\treturn bpf_frobnicate(1) + ((struct tcp_sock *)sk)->nosuch;", ""), "functions bpf_frobnicate(); fields nosuch"),
        (program(HEADS, HELPERS, "\ttcp_sk(sk)->srtt_us = 1;\n\treturn 2;", ""), "a controller may write the fields that kernel.h marks W"),
        (program(HEADS, "#include \"own.h\"", "\treturn 2;", ""), "own.h"),
        (program(HEADS, "extern void bbr_init(struct sock *sk) __ksym;", "\tbbr_init(sk);\n\treturn 2;", ""), "`bbr_init` is not defined"),
    ] {
        let told = error(&[("mine.bpf.c", &text)]);
        assert!(told.contains(said), "{told}\n{text}");
        assert_eq!(told.lines().count(), 1, "{told}");
    }
}
