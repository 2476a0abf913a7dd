//! What modules of 2025 and 2026 include: hashes, tables, lists, locks, memory, bits, addresses, files. The values are the
//! kernel's.

use std::net::{Ipv4Addr, SocketAddrV4};

use super::{build, flow, module, params, Params};
use cca::Modules;

/// Whether thresholds with these bodies have these answers, in a module with these headers; each has a copy of its own.
fn check(headers: &[&str], before: &str, cases: &[(&str, u32)]) {
    let includes: String = headers.iter().map(|name| format!("#include <{name}>\n")).collect();
    let bodies = cases
        .iter()
        .enumerate()
        .map(|(n, (body, _))| format!("static u32 case_{n}(struct sock *sk)\n{{\n{body}\n}}\n"));
    let names = (0..cases.len()).map(|n| format!("case_{n}, "));
    let text = format!(
        "{includes}{}",
        module(&format!(
            "static int which;\nmodule_param(which, int, 0);\n{before}\n{}static u32 (*const all[])(struct sock *sk) = {{ {}}};\n\
             static u32 threshold(struct sock *sk) {{ return all[which](sk); }}",
            bodies.collect::<String>(),
            names.collect::<String>()
        ))
    );
    let (_folder, built) = build(&[("tcp_mine.c", &text)]);
    let mut modules = Modules::seeded(7);
    modules.add(&built.unwrap()).unwrap();
    for (n, (body, value)) in cases.iter().enumerate() {
        let (cca, mut sk) = flow(&modules, "mine", &params(&[("which", n as i64)]));
        sk.connect(
            SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 49_152),
            SocketAddrV4::new(Ipv4Addr::new(10, 128, 0, 1), 5201),
        );
        assert_eq!(cca.ssthresh(&mut sk), *value, "{body}");
    }
}

#[test]
fn hashes_have_the_kernels_values() {
    // Of lookup3.c (driver5): "Four score and seven years ago" with the starts 0 and 1.
    let cases = [
        ("return jhash(\"Four score and seven years ago\", 30, 0);", 0x1777_0551),
        ("return jhash(\"Four score and seven years ago\", 30, 1);", 0xcd62_8161),
        ("return jhash(\"\", 0, 0);", 0xdead_beef),
        ("u32 k[] = { 1, 2, 3, 4, 5 }; return jhash2(k, 5, 9) - jhash(k, 20, 9);", 0),
        ("u32 k[] = { 1, 2, 3 }; return jhash2(k, 3, 9) - jhash_3words(1, 2, 3, 9);", 0),
        ("u32 k[] = { 1, 2 }; return jhash2(k, 2, 9) - jhash_2words(1, 2, 9);", 0),
        ("u32 k = 1; return jhash2(&k, 1, 9) - jhash_1word(1, 9);", 0),
        ("return hash_32(1, 8);", 0x61),
        ("return hash_32(12345, 16);", (12345_u32.wrapping_mul(0x61C8_8647)) >> 16),
        ("return hash_64(1, 32);", 0x61C8_8646),
        ("return hash_long(0x123456789abcdefUL, 10);", {
            (0x0123_4567_89ab_cdef_u64.wrapping_mul(0x61C8_8646_80B5_83EB) >> 54) as u32
        }),
    ];
    check(&["linux/jhash.h", "linux/hash.h"], "", &cases);
}

#[test]
fn tables_and_lists_keep_what_was_added() {
    let before = "struct seen { struct hlist_node node; struct list_head all; struct rcu_head rcu; u32 key, value; };\n\
        static DEFINE_HASHTABLE(table, 4);\nstatic LIST_HEAD(order);\n\
        static void add(u32 key, u32 value)\n\
        { struct seen *s = kzalloc(sizeof(*s), GFP_ATOMIC); s->key = key; s->value = value;\n\
        hash_add(table, &s->node, key); list_add_tail(&s->all, &order); }";
    let fill = "struct seen *s, *n; struct hlist_node *t; u32 i, sum = 0; int b;\n\
        for (i = 0; i < 100; i++) add(i, i * i);\n";
    let cases: Vec<(String, u32)> = [
        ("hash_for_each_possible(table, s, node, 7) if (s->key == 7) return s->value; return 0;", 49),
        ("hash_for_each(table, b, s, node) sum += s->key; return sum;", 4950),
        ("list_for_each_entry(s, &order, all) { sum = sum * 3 + s->key; if (s->key == 5) break; } return sum;", {
            (0..=5).fold(0, |sum, key| sum * 3 + key)
        }),
        ("list_for_each_entry_reverse(s, &order, all) return s->key; return 0;", 99),
        ("return list_first_entry(&order, struct seen, all)->key + list_last_entry(&order, struct seen, all)->key;", 99),
        ("list_for_each_entry_safe(s, n, &order, all) if (s->key & 1) { list_del(&s->all); hash_del(&s->node); kfree(s); }\n\
          list_for_each_entry(s, &order, all) sum++; hash_for_each(table, b, s, node) sum += 1000; return sum;", 50_050),
        // What a reader stands on may be given away, and leads on.
        ("hash_for_each_rcu(table, b, s, node) { hash_del_rcu(&s->node); list_del_rcu(&s->all); kfree_rcu(s, rcu); sum++; }\n\
          return sum + hash_empty(table) * 1000 + list_empty(&order) * 2000;", 3100),
        ("hash_for_each_safe(table, b, t, s, node) { hash_del(&s->node); kfree(s); } return hash_empty(table);", 1),
        ("s = list_first_entry(&order, struct seen, all); list_move_tail(&s->all, &order);\n\
          return list_is_last(&s->all, &order) + 10 * !hash_hashed(&s->node);", 1),
        ("LIST_HEAD(other); list_splice_init(&order, &other); return list_empty(&order) + 2 * !list_empty(&other);", 3),
    ]
    .map(|(body, value)| (format!("{fill}{body}"), value))
    .into();
    let cases: Vec<(&str, u32)> = cases.iter().map(|(body, value)| (&**body, *value)).collect();
    check(&["linux/hashtable.h", "linux/rculist.h", "linux/slab.h", "net/tcp.h"], before, &cases);
}

#[test]
fn small_headers_have_the_kernels_semantics() {
    let headers = [
        "linux/average.h",
        "linux/bitfield.h",
        "linux/cleanup.h",
        "linux/container_of.h",
        "linux/err.h",
        "linux/in.h",
        "linux/in6.h",
        "linux/lockdep.h",
        "linux/mutex.h",
        "linux/overflow.h",
        "linux/unaligned.h",
        "net/inet_ecn.h",
        "net/ipv6.h",
        "net/tcp.h",
    ];
    let before =
        "DECLARE_EWMA(rtt, 3, 8);\nstatic DEFINE_MUTEX(lock);\nstatic DEFINE_SPINLOCK(spin);\n\
        static const u8 raw[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };\n\
        static u32 held(void) { guard(mutex)(&lock); return mutex_is_locked(&lock); }";
    let cases = [
        ("return time_between32(5, 1, 9) + 2 * time_between32(0xfffffffe, 0xfffffff0, 4) + 4 * time_between32(10, 1, 9);", 3),
        ("struct ewma_rtt e; ewma_rtt_init(&e); ewma_rtt_add(&e, 1000); ewma_rtt_add(&e, 2000); return ewma_rtt_read(&e);", 1125),
        ("return get_unaligned_be32(raw + 1);", 0x0203_0405),
        ("return get_unaligned_le16(raw + 3) + get_unaligned((u16 *)(raw + 3));", 2 * 0x0504),
        ("return FIELD_GET(GENMASK(7, 4), 0xab) + FIELD_PREP(GENMASK(15, 8), 2);", 0xa + 512),
        ("void *p = ERR_PTR(-12); return IS_ERR(p) + (PTR_ERR(p) == -12) * 2 + 4 * IS_ERR_OR_NULL(NULL) + 8 * IS_ERR(sk);", 7),
        ("u32 sum; return check_add_overflow(0xffffffffU, 1U, &sum) + 2 * (struct_size((struct { u32 a; u32 b[]; } *)0, b, 5) == 24);", 3),
        ("return held() + 2 * !mutex_is_locked(&lock);", 3),
        ("scoped_guard(spinlock, &spin) { if (spin_is_locked(&spin)) break; } return 1 + spin_is_locked(&spin);", 1),
        ("u32 *p __free(kfree) = kzalloc(4, GFP_KERNEL); *p = 6; return *p;", 6),
        ("return INET_ECN_is_ce(0xb7) + 2 * INET_ECN_is_not_ect(4) + 4 * !!INET_ECN_is_capable(2);", 7),
        ("return ipv6_addr_any(&sk->sk_v6_daddr) + 2 * (sk->sk_family == AF_INET);", 3),
        ("return test_bit(3, (unsigned long[]){ 8 }) + 2 * (rol32(0x80000001, 1) == 3) + 4 * (sign_extend32(0xff, 7) == -1);", 7),
        ("return ktime_to_ns(ms_to_ktime(3)) + jiffies_to_nsecs(1) % 7;", 3_000_000 + 4_000_000 % 7),
    ];
    check(&headers, before, &cases);
}

#[test]
fn a_flow_has_the_addresses_of_its_capture() {
    let cases = [
        ("return ntohl(sk->sk_daddr);", 0x0a80_0001),
        ("return ntohl(inet_sk(sk)->inet_daddr);", 0x0a80_0001),
        ("return ntohl(sk->sk_rcv_saddr);", 0x0a00_0001),
        ("return ntohl(inet_sk(sk)->inet_saddr);", 0x0a00_0001),
        ("return ntohs(sk->sk_dport);", 5201),
        ("return sk->sk_num;", 49_152),
        ("return ntohs(inet_sk(sk)->inet_sport);", 49_152),
        ("return inet_sk(sk)->inet_num;", 49_152),
        ("return ipv4_is_private_10(sk->sk_daddr) + 2 * ipv4_is_loopback(sk->sk_daddr);", 1),
        ("return sk->sk_hash != 0;", 1),
    ];
    check(&["net/tcp.h"], "", &cases);
}

#[test]
fn a_module_draws_numbers_while_it_starts_and_each_run_has_its_own() {
    let text = module("static u32 seed;\nstatic u32 threshold(struct sock *sk) { return seed; }")
        .replace(
            "{ return tcp_reg",
            "{ seed = get_random_u32() + (u32)jiffies * 0; return tcp_reg",
        );
    let (_folder, built) = build(&[("tcp_mine.c", &text)]);
    let built = built.unwrap();
    let drawn = [1, 1, 2].map(|seed| {
        let mut modules = Modules::seeded(seed);
        modules.add(&built).unwrap();
        let (cca, mut sk) = flow(&modules, "mine", &Params::new());
        cca.ssthresh(&mut sk)
    });
    assert_eq!(drawn[0], drawn[1]);
    assert_ne!(drawn[0], drawn[2]);
}

#[test]
fn files_that_nobody_reads_are_warned_of_once() {
    let before = "static int table_show(struct seq_file *m, void *v) { seq_printf(m, \"%d\\n\", 3); return 0; }\n\
        DEFINE_SHOW_ATTRIBUTE(table);";
    let body = "struct dentry *d = debugfs_create_dir(\"mine\", NULL);\n\
        debugfs_create_file(\"table\", 0444, d, NULL, &table_fops); return IS_ERR(d);";
    cca::take_warnings();
    let headers = ["linux/debugfs.h", "linux/seq_file.h", "linux/proc_fs.h", "net/tcp.h"];
    check(&headers, before, &[(body, 1)]);
    let warned = cca::take_warnings();
    assert_eq!(warned.len(), 2, "{warned:?}");
    assert!(
        warned[0].contains("debugfs_create_dir(): no file is made in the simulator"),
        "{warned:?}"
    );
}

#[test]
fn names_that_are_common_words_are_the_modules_own_without_the_header() {
    let before = "#define FIELD_GET(a) (a)\nstatic u32 hash_add(u32 a) { return a; }\nstatic u32 guard(u32 a) { return a; }\n\
        static u32 jhash(u32 a) { return a; }\nstruct ewma_rtt { u32 v; };\nstatic u32 seq_open(void) { return 1; }";
    let body = "return FIELD_GET(1) + hash_add(1) + guard(1) + jhash(1) + seq_open();";
    check(&["net/tcp.h"], before, &[(body, 5)]);
}
