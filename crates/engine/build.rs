//! Digests of the sources that this library is built from: stored results tell by them which program made them.
//!
//! The digest is FNV-1a of 128 bits: what it has to tell apart are versions of one program, and it needs no dependency.

use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// What a simulated run passes through, whichever controllers it has; files and folders below the root.
const SIMULATOR: [&str; 14] = [
    "Cargo.lock",
    "cca/hosts/sim",
    "cca/include",
    "crates/cca/src",
    "crates/net/src",
    "crates/path/src",
    "crates/py/src/own.rs",
    "crates/py/src/sample.rs",
    "crates/quinn/src",
    "crates/quinn-cca/src",
    "crates/record/src",
    "crates/sim/src",
    "crates/transport/src",
    "crates/units/src",
];
/// What makes a controller a kernel module.
const MODULES: [&str; 2] = ["cca/hosts/kmod", "cca/include"];
/// Extensions of sources.
const SOURCES: [&str; 5] = ["c", "h", "lock", "rs", "txt"];

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("../..");
    for watched in ["Cargo.lock", "cca", "crates"] {
        println!("cargo:rerun-if-changed={}", root.join(watched).display());
    }
    let mut text = String::new();
    let mut row = |name: &str, files: &BTreeSet<PathBuf>| {
        writeln!(text, "    ({name:?}, {:?}),", digest(&root, files)).expect("String never fails");
    };
    row("engine", &below(&root, &SIMULATOR));
    row("modules", &below(&root, &MODULES));
    row("all", &below(&root, &["Cargo.lock", "cca", "crates"]));
    for file in entries(&root.join("cca")) {
        if file.extension().is_some_and(|found| found == "c") {
            let name = file.file_stem().and_then(|stem| stem.to_str()).expect("file name is UTF-8");
            let mut files = BTreeSet::new();
            add_included(&file, &mut files);
            row(&format!("cca/{name}"), &files);
        }
    }
    let out = PathBuf::from(env::var("OUT_DIR").expect("set by cargo")).join("digests.rs");
    fs::write(&out, format!("const DIGESTS: &[(&str, &str)] = &[\n{text}];\n"))
        .unwrap_or_else(|e| panic!("cannot write {}: {e}", out.display()));
}

/// Every source in these files and folders.
fn below(root: &Path, places: &[&str]) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for place in places {
        add(&root.join(place), &mut found);
    }
    found
}

fn add(place: &Path, found: &mut BTreeSet<PathBuf>) {
    if place.is_dir() {
        for entry in entries(place) {
            add(&entry, found);
        }
    } else if place.extension().is_some_and(|extension| SOURCES.iter().any(|one| extension == *one))
    {
        found.insert(place.to_owned());
    }
}

/// What a folder holds, by name, so that the build is reproducible.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|e| panic!("cannot read {}: {e}", folder.display()));
    let mut found: Vec<PathBuf> =
        entries.map(|entry| entry.expect("readable directory entry").path()).collect();
    found.sort();
    found
}

/// Adds a C file and the headers that it includes; those in `cca/include` count as part of the simulator.
fn add_included(file: &Path, found: &mut BTreeSet<PathBuf>) {
    if !found.insert(file.to_owned()) {
        return;
    }
    let text =
        fs::read_to_string(file).unwrap_or_else(|e| panic!("cannot read {}: {e}", file.display()));
    for line in text.lines() {
        let rest = line.trim_start().strip_prefix("#include \"");
        if let Some(name) = rest.and_then(|rest| rest.split('"').next()) {
            let beside = file.with_file_name(name);
            if beside.is_file() {
                add_included(&beside, found);
            }
        }
    }
}

/// FNV-1a over the names and texts of these files.
fn digest(root: &Path, files: &BTreeSet<PathBuf>) -> String {
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash =
                (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    };
    for file in files {
        let text = fs::read(file).unwrap_or_else(|e| panic!("cannot read {}: {e}", file.display()));
        let name = file.strip_prefix(root).expect("below the root").to_string_lossy().into_owned();
        add(name.as_bytes());
        add(&(text.len() as u64).to_le_bytes());
        add(&text);
    }
    format!("{hash:032x}")
}
