//! Compiles every `cca/*.c` for BPF, if there is a clang that can, and embeds the objects; a build without
//! clang has none, and says so when asked to load one. Also embeds what a user's own file is compiled with, and
//! compiles what finds libelf at run time.
//!
//! `CLANG` names the compiler (default: `clang`; version 14 or newer).

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "src/flags.rs"]
mod flags;
use flags::CLANG_FLAGS;

/// What host.h includes of libbpf: written for BPF programs, without anything of the system's.
const LIBBPF_HEADERS: [&str; 4] =
    ["bpf_helpers.h", "bpf_helper_defs.h", "bpf_tracing.h", "bpf_core_read.h"];

fn main() {
    let cca =
        PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("../../cca");
    let libbpf = PathBuf::from(env::var("DEP_BPF_INCLUDE").expect("set by libbpf-sys"));
    let out = PathBuf::from(env::var("OUT_DIR").expect("set by cargo"));
    println!("cargo:rerun-if-changed={}", cca.display());
    println!("cargo:rerun-if-changed=src/flags.rs");
    println!("cargo:rerun-if-changed=src/elf.c");
    cc::Build::new()
        .file("src/elf.c")
        .flag("-fvisibility=hidden")
        .warnings(true)
        .compile("dumbbell_elf");
    println!("cargo:rerun-if-env-changed=CLANG");

    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let objects = match refusal(&clang) {
        None => compile(&clang, &cca, &libbpf, &out),
        Some(why) => {
            println!("cargo:warning=controllers are not compiled for BPF: {why}");
            Vec::new()
        }
    };
    write(&out.join("objects.rs"), &object_table(&objects));
    write(&out.join("headers.rs"), &header_table(&cca, &libbpf));
}

/// Why this compiler will not do, if so.
fn refusal(clang: &str) -> Option<String> {
    let targets = match Command::new(clang).arg("--print-targets").output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
        Err(e) => return Some(format!("{clang}: {e}")),
    };
    if !targets.split_whitespace().any(|word| word == "bpf") {
        return Some(format!("{clang} does not compile for BPF"));
    }
    let macros = Command::new(clang).args(["-dM", "-E", "-xc", "/dev/null"]).output().ok()?;
    let macros = String::from_utf8_lossy(&macros.stdout).into_owned();
    let major = macros.lines().find_map(|line| line.strip_prefix("#define __clang_major__ "));
    let major: u32 = major.and_then(|major| major.trim().parse().ok()).unwrap_or(0);
    (major < 14).then(|| format!("{clang} has version {major}, wanted 14 or newer"))
}

/// Name and object of each controller, sorted by name so that the build is reproducible.
fn compile(clang: &str, cca: &Path, libbpf: &Path, out: &Path) -> Vec<(String, PathBuf)> {
    let mut sources: Vec<PathBuf> = files(cca)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|ext| ext == "c"))
        .collect();
    sources.sort_by_key(|path| path.file_stem().map(std::ffi::OsStr::to_owned));
    let mut objects = Vec::new();
    for source in sources {
        let name = source.file_stem().and_then(|stem| stem.to_str()).expect("file name is UTF-8");
        let object = out.join(name).with_extension("bpf.o");
        let mut run = Command::new(clang);
        run.args(CLANG_FLAGS).arg("-Werror");
        run.arg("-iquote").arg(cca.join("include")).arg("-I").arg(libbpf);
        run.arg("-c").arg(&source).arg("-o").arg(&object);
        let done = run.output().unwrap_or_else(|e| panic!("{clang}: {e}"));
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        objects.push((name.to_owned(), object));
    }
    objects
}

fn object_table(objects: &[(String, PathBuf)]) -> String {
    let mut rows = String::new();
    for (name, object) in objects {
        writeln!(rows, "    ({name:?}, include_bytes!({object:?})),").expect("String never fails");
    }
    format!("static OBJECTS: &[(&str, &[u8])] = &[\n{rows}];\n")
}

/// Path below the folder of a compilation, and text.
fn header_table(cca: &Path, libbpf: &Path) -> String {
    let mut rows = String::new();
    let mut add = |file: &Path, name: String| {
        writeln!(rows, "    ({name:?}, include_str!({file:?})),").expect("String never fails");
    };
    for folder in ["include", "hosts/bpf"] {
        for file in files(&cca.join(folder)) {
            let name = file.file_name().and_then(|name| name.to_str()).expect("UTF-8");
            add(&file, format!("cca/{folder}/{name}"));
        }
    }
    for name in LIBBPF_HEADERS {
        add(&libbpf.join("bpf").join(name), format!("bpf/{name}"));
    }
    format!("static HEADERS: &[(&str, &str)] = &[\n{rows}];\n")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|e| panic!("cannot read {}: {e}", folder.display()));
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.expect("readable directory entry").path()).collect();
    files.sort();
    files
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap_or_else(|e| panic!("cannot write {}: {e}", path.display()));
}
