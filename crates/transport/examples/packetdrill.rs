//! Runs scripts of the kernel's packetdrill on the simulated TCP, as they are:
//! `cargo run -p dumbbell-transport --example packetdrill -- FOLDER|FILE.pkt ...` (`make packetdrill SCRIPTS=...`).
//!
//! Says of each whether it passes, passes up to its `close()`, fails and where, or has no counterpart in the model and
//! why. Exit status 1 if one fails.

#[path = "../tests/pkt/code.rs"]
mod code;
#[path = "../tests/pkt/host.rs"]
mod host;
#[path = "../tests/pkt/info.rs"]
mod info;
#[path = "../tests/pkt/kernel.rs"]
mod kernel;
#[path = "../tests/pkt/parse.rs"]
mod parse;
#[path = "../tests/pkt/receiving.rs"]
mod receiving;
#[path = "../tests/pkt/run.rs"]
mod run;
#[path = "../tests/pkt/script.rs"]
mod script;

use run::Ended;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut scripts = Vec::new();
    for argument in std::env::args().skip(1) {
        if let Err(error) = collect(Path::new(&argument), &mut scripts) {
            eprintln!("{argument}: {error}");
            return ExitCode::from(2);
        }
    }
    if scripts.is_empty() {
        eprintln!("wanted folders or files of .pkt scripts");
        return ExitCode::from(2);
    }
    let mut counts = [0; 4];
    for path in &scripts {
        let (i, verdict) = judge(path);
        counts[i] += 1;
        println!("{}: {verdict}", path.display());
    }
    let [passed, closed, failed, left_out] = counts;
    println!("{passed} pass, {closed} to close(), {failed} fail, {left_out} have no counterpart");
    ExitCode::from(u8::from(failed > 0))
}

/// The scripts of a folder and those below it, by name.
fn collect(path: &Path, out: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if !path.is_dir() {
        // It must exist.
        path.metadata()?;
        out.push(path.to_path_buf());
        return Ok(());
    }
    let mut entries: Vec<_> =
        path.read_dir()?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
    entries.sort();
    for entry in entries {
        if entry.is_dir() || entry.extension().is_some_and(|e| e == "pkt") {
            collect(&entry, out)?;
        }
    }
    Ok(())
}

/// Which count a script belongs to, and the verdict in words.
fn judge(path: &Path) -> (usize, String) {
    let script = match std::fs::read_to_string(path) {
        Ok(text) => parse::parse(&text),
        Err(error) => return (2, format!("FAIL {error}")),
    };
    match script.map(|script| run::run(&script)) {
        Err(error) => (3, format!("no counterpart: line {error}")),
        Ok(Ok(Ended::AtEnd)) => (0, "pass".to_string()),
        Ok(Ok(Ended::AtClose(line))) => (1, format!("pass up to close() on line {line}")),
        Ok(Err(failure)) => (2, format!("FAIL line {failure}")),
    }
}
