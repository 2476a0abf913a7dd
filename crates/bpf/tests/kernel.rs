//! The loader against the running kernel. Skipped, with the reason, where it cannot be: without root, type information
//! or clang. Flows through each controller are in tests/test_kernel.py.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bpf::{Error, Name, Object};

/// One test at a time: they load under the same names.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Can this machine do it? Says on stderr why not.
fn can_load() -> bool {
    let probe = Object::find("reno").and_then(|reno| bpf::load(&reno, &[], Name::Numbered));
    match probe {
        Ok(_) => true,
        Err(
            e @ (Error::NotPermitted
            | Error::Kernel { .. }
            | Error::Bpffs(_)
            | Error::NotBuilt { .. }),
        ) => {
            eprintln!("skipped: {e}");
            false
        }
        Err(e) => panic!("{e}"),
    }
}

fn is_registered(kernel_name: &str) -> bool {
    let list = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    list.expect("Linux").split_whitespace().any(|name| name == kernel_name)
}

fn given(name: &str, value: &str) -> Vec<(String, String)> {
    vec![(name.to_owned(), value.to_owned())]
}

#[test]
fn every_controller_passes_the_verifier_and_leaves_nothing() {
    let _turn = turn();
    if !can_load() {
        return;
    }
    for name in Object::built_in() {
        let object = Object::find(name).expect("built in");
        let loaded = bpf::load(&object, &[], Name::Numbered).unwrap_or_else(|e| panic!("{e}"));
        let kernel_name = loaded.kernel_name().to_owned();
        assert_eq!(loaded.name(), name);
        assert!(is_registered(&kernel_name));
        let status = bpf::status(Some(&kernel_name)).expect("loaded");
        assert!(!status[0].is_kept);
        assert!(status[0]
            .params
            .iter()
            .all(|p| p.value == p.default && p.min <= p.default && p.default <= p.max));
        drop(loaded);
        assert!(!is_registered(&kernel_name), "{kernel_name}");
        assert!(!Path::new("/sys/fs/bpf/dumbbell").join(&kernel_name).exists());
    }
}

#[test]
fn parameters_are_set_at_load_and_later_and_wrong_ones_change_nothing() {
    let _turn = turn();
    if !can_load() {
        return;
    }
    let cubic = Object::find("cubic").expect("built in");
    let value = || {
        let status = bpf::status(Some("d_cubic")).expect("loaded, by the kernel's name too");
        status[0].params.iter().find(|p| p.name == "beta").expect("cubic has beta").value
    };
    let loaded = bpf::load(&cubic, &given("beta", "512"), Name::Own).expect("loads");
    assert_eq!(value(), 512);
    bpf::set("cubic", &given("beta", "600")).expect("in range");
    assert_eq!(value(), 600);
    let refused = bpf::set("cubic", &given("beta", "99999")).expect_err("out of range");
    assert!(matches!(refused, Error::OutOfRange { .. }), "{refused}");
    assert_eq!(value(), 600);
    let second = bpf::load(&cubic, &[], Name::Own).expect_err("there is one");
    assert!(matches!(second, Error::AlreadyLoaded { .. }), "{second}");
    assert!(matches!(bpf::unload("cubic"), Err(Error::Held { .. })), "this process holds it");
    drop(loaded);
    assert!(matches!(bpf::set("cubic", &given("beta", "600")), Err(Error::NotLoaded { .. })));
    let refused =
        bpf::load(&cubic, &given("betta", "1"), Name::Own).expect_err("no such parameter");
    assert!(matches!(refused, Error::UnknownParam { .. }), "{refused}");
    assert!(!is_registered("d_cubic"));
}

#[test]
fn several_of_one_source_are_told_apart_by_their_numbers() {
    let _turn = turn();
    if !can_load() {
        return;
    }
    let zhang = Object::find("tsunami-zhang").expect("built in");
    let own = bpf::load(&zhang, &[], Name::Own).expect("loads");
    let param = bpf::status(Some("tsunami_zhang")).expect("loaded")[0].params[0].clone();
    let value = param.min.to_string();
    let first = bpf::load(&zhang, &given(&param.name, &value), Name::Numbered).expect("loads");
    let second = bpf::load(&zhang, &[], Name::Numbered).expect("loads beside it");
    assert_ne!(first.kernel_name(), second.kernel_name());
    for (one, value) in [(&own, param.default), (&first, param.min), (&second, param.default)] {
        assert!(is_registered(one.kernel_name()), "{}", one.kernel_name());
        let status = bpf::status(Some(one.kernel_name())).expect("loaded");
        assert_eq!((&*status[0].name, status[0].params[0].value), ("tsunami-zhang", value));
    }
    let meant = &bpf::status(Some("tsunami-zhang")).expect("loaded")[0];
    assert_eq!(meant.kernel_name, "tsunami_zhang", "the one of that name, not a numbered one");
    let name = first.kernel_name().to_owned();
    drop(first);
    assert!(!is_registered(&name) && is_registered(second.kernel_name()));
    let again = bpf::load(&zhang, &[], Name::Numbered).expect("loads");
    assert_eq!(again.kernel_name(), name, "the first that is free");
    drop(own);
    let change = bpf::set("tsunami-zhang", &given(&param.name, &value));
    let refused = change.expect_err("only numbered ones are left, and those are somebody's own");
    assert!(refused.to_string().contains(&name), "{refused}");
    let all = bpf::status(Some("tsunami-zhang")).expect("to look at, they are of that name");
    assert_eq!(all.len(), 2);
}

#[test]
fn a_kept_controller_stays_until_it_is_unloaded() {
    let _turn = turn();
    if !can_load() {
        return;
    }
    let vegas = Object::find("vegas").expect("built in");
    bpf::load(&vegas, &[], Name::Own).expect("loads").keep().expect("is pinned");
    assert!(is_registered("d_vegas"));
    assert!(bpf::status(Some("vegas")).expect("loaded")[0].is_kept);
    let before = bpf::unload("vegas").expect("is loaded");
    assert_eq!((before.name.as_str(), before.sockets.len()), ("vegas", 0));
    assert!(!is_registered("d_vegas"));
    assert!(matches!(bpf::unload("vegas"), Err(Error::NotLoaded { .. })));
}

#[test]
fn the_verifiers_reason_is_told() {
    let _turn = turn();
    if !can_load() {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/refused");
    for (file, hook, reason) in [
        ("oversteps.c", "oversteps_cong_avoid", "no write support to tcp_sock"),
        ("unchecked.c", "unchecked_cong_avoid", "invalid mem access 'map_value_or_null'"),
    ] {
        let object = Object::compile(&folder.join(file)).expect("compiles");
        match bpf::load(&object, &[], Name::Numbered).expect_err("is refused") {
            Error::Refused { program, log, .. } => {
                assert_eq!(program, hook);
                assert!(log.contains(reason), "{log}");
            }
            other => panic!("{other}"),
        }
    }
    assert!(bpf::loaded().expect("may look").is_empty() || !is_registered("d_oversteps"));
}

#[test]
fn what_is_not_a_controller_is_refused_before_the_kernel_sees_it() {
    let _turn = turn();
    if !can_load() {
        return;
    }
    for bytes in [Vec::new(), b"not an object".to_vec(), vec![0x7f, b'E', b'L', b'F']] {
        let error =
            bpf::load(&Object::from_bytes("x", bytes), &[], Name::Own).expect_err("no object");
        assert!(matches!(error, Error::Load { doing: "reading the object", .. }), "{error}");
    }
}
