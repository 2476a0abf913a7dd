//! Packet exchanges as scripts: `pkt/<feature>/<behaviour>.pkt`, a subset of packetdrill's language in
//! exact virtual time. Each script opens with what it checks and whose rule that is.
//!
//! `PKT=fast_recovery cargo test -p dumbbell-transport --test pkt` runs those whose path contains it.

mod code;
mod fuzz;
mod host;
mod info;
mod kernel;
mod parse;
mod receiving;
mod run;
mod script;

use std::path::{Path, PathBuf};

/// Runs the scripts of one folder; all failures at once.
fn run_folder(feature: &str) {
    let folder = root().join(feature);
    let wanted = std::env::var("PKT").unwrap_or_default();
    let scripts: Vec<_> =
        scripts(&folder).into_iter().filter(|p| shown(p).contains(&wanted)).collect();
    assert!(!scripts.is_empty() || !wanted.is_empty(), "no scripts in {}", folder.display());
    let failures: Vec<String> = scripts.iter().filter_map(|path| run_file(path).err()).collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

fn run_file(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", shown(path)))?;
    let script = parse::parse(&text).map_err(|e| format!("{}:{e}", shown(path)))?;
    run::run(&script).map(drop).map_err(|e| format!("{}:{e}", shown(path)))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pkt")
}

fn shown(path: &Path) -> String {
    let inside = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(path);
    inside.display().to_string()
}

/// The scripts of a folder by name.
pub fn scripts(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<_> = entries
        .map(|e| e.expect("a readable folder").path())
        .filter(|p| p.extension().is_some_and(|e| e == "pkt"))
        .collect();
    paths.sort();
    paths
}

macro_rules! features {
    ($($feature:ident)*) => {
        $(
            #[test]
            fn $feature() {
                run_folder(stringify!($feature));
            }
        )*

        #[test]
        fn every_folder_of_scripts_is_run() {
            let run = [$(stringify!($feature)),*];
            for entry in std::fs::read_dir(root()).expect("the folder of this file") {
                let path = entry.expect("a readable folder").path();
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                assert!(!path.is_dir() || run.contains(&name.as_str()), "{name} is not in `features!`");
            }
        }
    };
}

features! {
    cwnd_validation
    ecn
    fast_recovery
    handshake
    misbehaving_receiver
    pacing
    rack
    rate
    receiver
    rto
    sack
    slow_start
    tlp
    tso
    undo
    window
}

#[test]
fn every_script_opens_with_what_it_checks() {
    for entry in std::fs::read_dir(root()).expect("the folder of this file") {
        let path = entry.expect("a readable folder").path();
        for script in if path.is_dir() { scripts(&path) } else { Vec::new() } {
            let text = std::fs::read_to_string(&script).expect("a readable script");
            assert!(text.starts_with("// "), "{}: no comment at the top", shown(&script));
        }
    }
}
