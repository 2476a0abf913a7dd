//! A user's own controllers: compiled at run time, loaded, kept apart, and what they are told when they
//! are wrong. The modules here are ours, in the form that Linux has.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cca::{compile, BuildError, Built, Controller, Modules, Preset, TcpSock};
use tempfile::TempDir;

mod headers;
mod lacking;
mod strangers;
mod struct_ops;
mod trees;

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
    assert_eq!(told(&[("shif", 1)]), "mine has no parameter `shif`; it takes on, shift");
    let (cca, mut sk) = flow(&modules, "mine", &params(&[("on", 1), ("shift", 9)]));
    assert_eq!(cca.ssthresh(&mut sk), 109);
}

#[test]
fn a_difference_of_unsigned_values_has_an_absolute_value() {
    // The kernel's abs() reads unsigned values as signed ones; BBR's test for policers needs that.
    let body = "static u32 threshold(struct sock *sk)\n\
        { u32 a = 5, b = 7; u64 c = 5, d = 1ULL << 40; s16 e = -3; u16 f = 65535;\n\
        return abs(a - b) + 10 * abs(b - a) + 100 * (u32)(abs(c - d) >> 38) + 1000 * abs(e) + 10000 * abs(f); }";
    let (_folder, built) = build(&[("tcp_mine.c", &module(body))]);
    let mut modules = Modules::new();
    modules.add(&built.unwrap()).unwrap();
    let (cca, mut sk) = flow(&modules, "mine", &Params::new());
    assert_eq!(cca.ssthresh(&mut sk), 2 + 20 + 300 + 3000 + 10000);
}

#[test]
fn elements_of_a_list_are_parameters_of_their_own() {
    let body = "static int gains[] = { 320, 192, 256 };\nstatic int n_gains = 3;\n\
        module_param_array_named(gain, gains, int, &n_gains, 0644);\n\
        MODULE_PARM_DESC(gain, \"of each phase\");\nstatic u8 steps[4];\nstatic int n_steps;\n\
        module_param_array(steps, byte, &n_steps, 0444);\n\
        static char *words[2];\nmodule_param_array(words, charp, NULL, 0);\n\
        static u32 last;\nmodule_param(last, uint, 0);\n\
        static u32 threshold(struct sock *sk)\n\
        { return gains[0] + gains[1] + gains[2] + n_gains + 1000 * steps[1] + 10000 * n_steps; }";
    let (_folder, built) = build(&[("tcp_mine.c", &module(body))]);
    let mut modules = Modules::new();
    modules.add(&built.unwrap()).unwrap();
    let (plain, mut sk) = flow(&modules, "mine", &Params::new());
    let told: Vec<_> = plain.module().params().iter().map(|p| (p.name, p.default, p.max)).collect();
    let gains = [("gain_0", 320), ("gain_1", 192), ("gain_2", 256)];
    let gains = gains.map(|(name, default)| (name, default, i64::from(i32::MAX)));
    let steps = ["steps_0", "steps_1", "steps_2", "steps_3"].map(|name| (name, 0, 255));
    let last = [("last", 0, i64::from(u32::MAX))];
    assert_eq!(told, [&gains[..], &steps, &last].concat());
    assert_eq!(plain.module().params()[1].doc, "of each phase");
    assert_eq!(plain.ssthresh(&mut sk), 320 + 192 + 256 + 3);
    // What is set counts as given, with all before it.
    let (set, mut sk) = flow(&modules, "mine", &params(&[("gain_1", 100), ("steps_1", 7)]));
    assert_eq!(set.ssthresh(&mut sk), 320 + 100 + 256 + 3 + 7000 + 20000);
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
    assert!(cca.module().presets().is_empty());
    let wrong = modules.controller("mine", &params(&[("beta", 1)])).unwrap_err().to_string();
    assert_eq!(wrong, "mine has no parameter `beta`; it takes no parameters");
}

#[test]
fn a_controller_in_our_style_may_have_presets() {
    let mine = |values: &str| {
        format!(
            "/* Mine: an example. */\n#include \"cca.h\"\n\
             #define MINE(P) P(alpha, 1, 0, 9, \"segments\", \"growth\")\nCCA_PARAMS(MINE);\n\
             #define FAST(V) {values}\n\
             #define PRESETS(PRESET) PRESET(fast, \"another one\", FAST)\n\
             CCA_PRESETS(PRESETS);\nCCA_NO_STATE;\nCCA_NO_STATES;\n\
             CCA_OP(u32, mine_ssthresh, struct sock *sk) {{ return 2 + param(sk, alpha); }}\n\
             CCA_OP(u32, mine_undo, struct sock *sk) {{ return 2; }}\n\
             CCA_OP(void, mine_grow, struct sock *sk, u32 ack, u32 acked) {{ }}\n\
             CCA_MODULE(mine, \"mine\", 0, .ssthresh = mine_ssthresh, .undo_cwnd = mine_undo,\n\
             .cong_avoid = mine_grow);\n"
        )
    };
    let (_folder, built) = build(&[("mine.c", &mine("V(alpha, 9)"))]);
    let module = built.unwrap().open().unwrap();
    let fast = Preset { name: "fast", doc: "another one", values: vec![("alpha", 9)] };
    assert_eq!(module.presets(), [fast]);
    for (values, what) in [
        ("V(alpha, 10)", "in a preset: alpha = 10 is out of range"),
        ("V(beta, 1)", "PARAM_MIN_beta"),
    ] {
        let said = error(&[("mine.c", &mine(values))]);
        assert!(said.contains(what), "{values}\n=> {said}");
    }
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
        ("#include <linux/module.h>\nstatic int __init f(void) { return -12; }\nmodule_init(f);", "", "its module_init() fails with error 12"),
        ("#include <net/tcp.h>\n#include <linux/module.h>\nstatic struct tcp_congestion_ops o = { .name = \"x\" };\nstatic int f(void) { return tcp_register_congestion_control(&o); }\nmodule_init(f);", "", "without ssthresh, undo_cwnd"),
        ("#include \"cca.h\"\nint x = nothing;\n", "tcp_mine.c:2:", "nothing"),
        ("#include \"cca.h\"\nconst int x;\n", "", "no `cca_module_tcp_mine`"),
    ];
    for (text, place, what) in cases {
        let said = error(&[("tcp_mine.c", text)]);
        assert!(said.starts_with(place) && said.contains(what), "{text}\n=> {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    assert_eq!(build(&[("tcp_mine.c", &module(answers))]).1.unwrap().companions.len(), 0);
}
