//! The table of controllers and the errors of their parameters.

use std::collections::{BTreeMap, BTreeSet};

use cca::{minmax_running_min, CaInfo, Controller, MinMax, Module, ParamError, TcpSock};

fn params(pairs: &[(&str, i64)]) -> BTreeMap<String, i64> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value)).collect()
}

fn module(name: &str) -> &'static Module {
    Module::find(name).unwrap()
}

#[test]
fn every_controller_is_complete() {
    let names: Vec<_> = Module::all().iter().map(Module::name).collect();
    assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "not sorted: {names:?}");
    let ours = ["bbr", "bbr-drain", "bbr-hsr", "bbrplus", "cubic", "dctcp", "htcp", "reno"];
    for name in ours.into_iter().chain(["tsunami", "tsunami-zhang", "vegas"]) {
        assert!(names.contains(&name), "{name} is missing");
    }
    for module in Module::all() {
        let name = module.name();
        assert!(module.doc().contains("Sources:"), "{name} names no sources");
        assert!(letters(&module.summary()).starts_with(&letters(name)), "{}", module.summary());
        assert!(module.summary().len() < 120, "{}", module.summary());
        assert_eq!(module.license(), "GPL-2.0 OR BSD-3-Clause");
        let is_large = name.starts_with("bbr2") || ["bbr3", "bbr-draft"].contains(&name);
        assert_eq!(module.priv_bytes() > 104, is_large, "{name}: {} bytes", module.priv_bytes());
        for p in module.params() {
            assert!(p.min <= p.default && p.default <= p.max, "{name}: {p:?}");
            assert!(!p.doc.is_empty() && !p.unit.is_empty(), "{name}: {p:?}");
        }
        // ssthresh() and undo_cwnd() panic when a module lacks them.
        let cca = Controller::new(module, &BTreeMap::new()).unwrap();
        let mut sk = TcpSock::new();
        cca.attach(&mut sk, 250, 7);
        cca.init(&mut sk);
        assert!(cca.ssthresh(&mut sk) >= 2 && cca.undo_cwnd(&mut sk) >= 1, "{name}");
        cca.release(&mut sk);
    }
}

/// Lower-case letters and digits only: the text writes H-TCP, the kernel htcp.
fn letters(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase()
}

#[test]
fn only_bbr_controls_the_rate_itself() {
    assert!(module("bbr").has_cong_control());
    assert!(!module("cubic").has_cong_control() && !module("reno").has_cong_control());
    assert_eq!(module("bbr").states(), ["STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT"]);
}

#[test]
fn an_unknown_parameter_is_refused_with_those_that_exist() {
    let error = Controller::new(module("cubic"), &params(&[("betta", 1)])).unwrap_err();
    let start = "cubic has no parameter `betta`; it takes fast_convergence, beta,";
    assert!(error.to_string().starts_with(start), "{error}");
}

#[test]
fn a_value_out_of_range_names_the_range() {
    for value in [-1, 255, 1001, i64::from(u32::MAX) + 1 + 717] {
        let error = Controller::new(module("cubic"), &params(&[("beta", value)])).unwrap_err();
        assert!(matches!(error, ParamError::OutOfRange { value: v, .. } if v == value));
        let wanted = format!("cubic: `beta` must be 256 to 1000 1/1024, got {value}");
        assert_eq!(error.to_string(), wanted);
    }
    assert!(Controller::new(module("cubic"), &params(&[("beta", 1000)])).is_ok());
}

#[test]
fn every_preset_makes_a_controller_and_says_what_it_stands_for() {
    let with = |name: &str| {
        Module::all()
            .iter()
            .filter(|m| m.presets().iter().any(|p| p.name == name))
            .map(Module::name)
            .collect::<Vec<_>>()
    };
    let chromium =
        ["bbr", "bbr-drain", "bbr-hsr", "bbr2", "bbrplus", "cubic", "reno", "tsunami-zhang"];
    assert_eq!(with("chromium"), chromium);
    assert_eq!(with("chromium-2019"), ["bbr2"]);
    assert_eq!(with("linux-4.9"), ["bbr", "cubic"]);
    assert_eq!(with("paper"), ["bbr2plus"]);
    for module in Module::all() {
        let presets = module.presets();
        let names: BTreeSet<_> = presets.iter().map(|preset| preset.name).collect();
        assert_eq!(names.len(), presets.len(), "{}: a name twice", module.name());
        for preset in &presets {
            let name = module.name();
            assert!(!preset.doc.is_empty() && !preset.values.is_empty(), "{name}: {preset:?}");
            let values = params(&preset.values);
            assert_eq!(values.len(), preset.values.len(), "{name}: a parameter twice");
            Controller::new(module, &values).unwrap();
        }
    }
}

#[test]
fn a_preset_holds_the_values_of_its_source() {
    let presets = module("cubic").presets();
    let values =
        [("beta", 870), ("friendly_connections", 2), ("hystart_detect", 2), ("hystart_once", 1)];
    assert_eq!(presets[0].values, values);
    assert_eq!(presets[1].values, [("hystart_half_train", 1)]);
    let bbr = &module("bbr").presets()[1];
    let of_4_9 = [
        ("pacing_margin_percent", 0),
        ("pacing_header_bytes", 52),
        ("extra_acked_gain", 0),
        ("count_departures", 0),
        ("renew_equal_rtt", 1),
        ("rules_4_9", 1),
    ];
    assert_eq!((bbr.name, &bbr.values[..]), ("linux-4.9", &of_4_9[..]));
    assert!(module("vegas").presets().is_empty());
}

#[test]
fn parameters_belong_to_a_flow() {
    let mut cut = [512, 1000].map(|beta| {
        let cca = Controller::new(module("cubic"), &params(&[("beta", beta)])).unwrap();
        let mut sk = TcpSock::new();
        cca.attach(&mut sk, 1000, 1);
        cca.init(&mut sk);
        sk.snd_cwnd = 1024;
        (cca, sk)
    });
    let thresholds = cut.each_mut().map(|(cca, sk)| cca.ssthresh(sk));
    assert_eq!(thresholds, [512, 1000]);
}

#[test]
fn asking_for_estimates_changes_nothing() {
    for module in Module::all() {
        let cca = Controller::new(module, &BTreeMap::new()).unwrap();
        let mut sk = TcpSock::new();
        cca.attach(&mut sk, 1000, 1);
        cca.init(&mut sk);
        // Some start without a call, which is what tells the socket where its parameters are.
        cca.ssthresh(&mut sk);
        let before = format!("{sk:?}");
        let state = cca.state(&mut sk).expect("every controller reports its state");
        let mut estimates = CaInfo::default();
        cca.read_info(&mut sk, &mut estimates);
        assert_eq!(format!("{sk:?}"), before);
        assert_eq!(estimates, cca.info(&sk));
        assert_eq!(estimates.state(), Some(state));
        assert!((state as usize) < module.states().len());
    }
}

/// The filter never reports more than the true minimum of the last half window, nor less than that of
/// the whole window.
#[test]
fn windowed_minimum_is_between_the_true_minima() {
    const WINDOW: u32 = 100;
    let mut state = 1_u32;
    let mut seen: Vec<(u32, u32)> = Vec::new();
    let mut filter = MinMax::new(0, u32::MAX);
    for t in (1..5000).step_by(3) {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let value = 1000 + (state >> 22) + t % 700;
        seen.push((t, value));
        let found = minmax_running_min(&mut filter, WINDOW, t, value);
        let least = |age| seen.iter().filter(|(at, _)| t - at <= age).map(|(_, v)| *v).min();
        assert!(
            Some(found) >= least(WINDOW) && Some(found) <= least(WINDOW / 2),
            "at {t}: {found}"
        );
    }
}
