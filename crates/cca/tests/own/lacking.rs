//! What a module uses and the simulator does not have is named in one error, all of it.

use super::{build, error, module};

const THRESHOLD: &str = "static u32 threshold(struct sock *sk) { return 2; }";

#[test]
fn all_that_is_missing_is_named_at_once() {
    let with = |headers: &[&str], before: &str, body: &str| {
        let includes: String = headers.iter().map(|name| format!("#include {name}\n")).collect();
        format!(
            "{includes}{}",
            module(&format!("{before}\nstatic u32 threshold(struct sock *sk)\n{{\n{body}\n}}"))
        )
    };
    let netlink = "linux/netlink.h (messages to and from programs)";
    for (text, parts) in [
        (
            with(&["<linux/netlink.h>"], "", "return 2;"),
            &["tcp_mine.c:1:10: fatal error: linux/netlink.h", netlink][..],
        ),
        (
            with(&["<linux/netlink.h>", "<linux/rbtree.h>"], "", "return 2;"),
            &[netlink, "linux/rbtree.h (sorted trees)"],
        ),
        (
            with(
                &["<linux/timer.h>"],
                "static struct timer_list t;",
                "mod_timer(&t, 1); return 2;",
            ),
            &["linux/timer.h (timers)", "functions mod_timer()"],
        ),
        (
            with(&["<linux/nothing.h>", "<linux/more.h>"], "", "return 2;"),
            &["headers linux/nothing.h, linux/more.h"],
        ),
        (
            with(&["\"mine.h\"", "<net/tcp.h>"], "", "return tcp_sk(sk)->nosuch;"),
            &["mine.h (of the module's own, wanted in its folder)", "fields nosuch"],
        ),
        (
            with(&["<net/tcp.h>"], "", "return tcp_one(sk) + tcp_two(sk);"),
            &["tcp_mine.c:", "functions tcp_one(), tcp_two()"],
        ),
        (
            with(&["<net/tcp.h>"], "", "return sk->sk_one + tcp_sk(sk)->two + THREE;"),
            &["fields sk_one, two; names THREE"],
        ),
        (
            with(&["<crypto/aes.h>", "<trace/events/x.h>"], "", "return 2;"),
            &["crypto/aes.h (cryptography)", "trace/events/x.h (tracing)"],
        ),
        (
            with(&["<net/tcp.h>"], "static foo_t one; static bar_t two;", "return 2;"),
            &["types bar_t, foo_t"],
        ),
        (
            with(
                &["<net/tcp.h>"],
                "extern int e1(void); extern int e2(void);",
                "return e1() + e2();",
            ),
            &["`e1` is not defined", "; nor are e2"],
        ),
    ] {
        let said = error(&[("tcp_mine.c", &text)]);
        for part in parts {
            assert!(said.contains(part), "{part}\n{said}\n{text}");
        }
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn many_names_are_cut_and_all_are_kept_for_who_asks() {
    let calls: String = (0..40).map(|n| format!("f{n:02}(); ")).collect();
    let text = module(&format!("static u32 threshold(struct sock *sk) {{ {calls} return 2; }}"));
    let (_folder, built) = build(&[("tcp_mine.c", &text)]);
    let error = built.unwrap_err();
    assert!(error.to_string().contains("f11() and 28 more"), "{error}");
    assert!(error.to_string().len() < 1000);
    assert_eq!(error.lacking.names.len(), 40);
}

#[test]
fn one_name_is_the_compilers_to_say() {
    let said = error(&[(
        "tcp_mine.c",
        &format!("#include <net/tcp.h>\nvoid f(void) {{ g(); }}\n{}", module(THRESHOLD)),
    )]);
    assert!(!said.contains("lacks"), "{said}");
}

#[test]
fn a_message_of_the_source_is_cut() {
    let said = error(&[("tcp_mine.c", &format!("#error {}\n", "word ".repeat(20_000)))]);
    assert!(
        said.starts_with("tcp_mine.c:1:2: error: #error word") && said.ends_with("..."),
        "{said}"
    );
    assert!(said.len() < 500, "{}", said.len());
}

#[test]
fn what_has_no_end_is_not_included() {
    for (line, file) in [
        ("#include \"/dev/zero\"", "/dev/zero"),
        ("#include </dev/tty>", "/dev/tty"),
        ("# include \"pipe.h\"", "pipe.h"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let status =
            std::process::Command::new("mkfifo").arg(folder.path().join("pipe.h")).status();
        assert!(status.unwrap().success());
        let source = folder.path().join("tcp_mine.c");
        std::fs::write(&source, format!("\n{line}\n{}", module(THRESHOLD))).unwrap();
        let said = cca::compile(&source, folder.path(), 1000).unwrap_err().to_string();
        let wanted = format!("tcp_mine.c:2: got an #include of \"{file}\", which is not a regular file, wanted a header");
        assert!(said.ends_with(&wanted), "{said}");
    }
}

#[test]
fn a_device_in_a_header_ends_in_a_line_that_says_so() {
    let said =
        error(&[("tcp_mine.c", "#include \"own.h\"\n"), ("own.h", "#include \"/dev/zero\"\n")]);
    assert!(said.starts_with("tcp_mine.c: the compiler fails: "), "{said}");
    assert!(said.contains("out of memory"), "{said}");
}

#[test]
fn a_compiler_that_is_not_to_go_on_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("tcp_mine.c");
    // Macros that double their text forty times.
    let bomb: String = (1..40).map(|n| format!("#define A{n} A{} A{}\n", n - 1, n - 1)).collect();
    std::fs::write(&source, format!("#define A0 x\n{bomb}int a = 0 A39;\n")).unwrap();
    let mut asked = 0;
    let mut goes_on = || {
        asked += 1;
        asked < 4
    };
    assert!(cca::compile_while(&source, folder.path(), 1000, &mut goes_on).is_err());
    assert!(asked >= 4);
}
