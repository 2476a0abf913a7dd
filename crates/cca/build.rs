//! Compiles every `cca/*.c` for the simulator and generates the table of controllers. The folder is in the crate as the link
//! `c`, whose files `cargo package` takes along: the package builds where there is no checkout.
//!
//! The table holds, for each file, the C symbol `cca_module_<file name>` (`-` as `_`) and the head comment
//! of the source, so that documentation shown to users is the text beside the code.
//!
//! The feature `sanitize` adds the address and undefined-behaviour sanitizers to the C (gcc only).

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let cca = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("c");
    println!("cargo:rerun-if-changed={}", cca.display());

    let sources = controllers(&cca);
    compile(&cca, &sources);
    let table = module_table(&sources);
    let out = PathBuf::from(env::var("OUT_DIR").expect("set by cargo")).join("modules.rs");
    fs::write(&out, table).unwrap_or_else(|e| panic!("cannot write {}: {e}", out.display()));
    let out = out.with_file_name("headers.rs");
    let headers = text_table(
        "FILES",
        &cca,
        &[
            "bbr1",
            "bbr2",
            "bbr2plus",
            "cubic",
            "orca",
            "include",
            "hosts/sim",
            "hosts/module",
            "hosts/struct_ops",
        ],
        &["h", "c", "txt"],
    );
    let sources = text_table("SOURCES", &cca, &["", "hosts/kmod"], &["h", "c"]);
    fs::write(&out, headers + &sources)
        .unwrap_or_else(|e| panic!("cannot write {}: {e}", out.display()));
}

/// Rust source of a table with path and text of each file in these folders of `cca/`. The installed program compiles them
/// for its user, and carries them in itself because the checkout is not there.
fn text_table(name: &str, cca: &Path, folders: &[&str], extensions: &[&str]) -> String {
    let mut rows = String::new();
    for folder in folders {
        let mut files: Vec<PathBuf> = fs::read_dir(cca.join(folder))
            .unwrap_or_else(|e| panic!("cannot read {folder}: {e}"))
            .map(|entry| entry.expect("readable directory entry").path())
            .filter(|path| {
                path.extension().is_some_and(|found| extensions.iter().any(|one| found == *one))
            })
            .collect();
        files.sort();
        for file in files {
            let path = file.strip_prefix(cca).expect("below cca/").to_str().expect("UTF-8");
            writeln!(rows, "    ({path:?}, include_str!({file:?})),").expect("String never fails");
        }
    }
    format!("static {name}: &[(&str, &str)] = &[\n{rows}];\n")
}

/// The controllers' sources, sorted by name so that the build is reproducible.
fn controllers(cca: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(cca).unwrap_or_else(|e| panic!("cannot read {}: {e}", cca.display()));
    let mut sources: Vec<PathBuf> = entries
        .map(|entry| entry.expect("readable directory entry").path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "c"))
        .collect();
    // By name, not by path: "bbr" comes before "bbr-drain".
    sources.sort_by_key(|path| path.file_stem().map(std::ffi::OsStr::to_owned));
    sources
}

fn compile(cca: &Path, sources: &[PathBuf]) {
    let mut build = cc::Build::new();
    build.files(sources);
    build.files(["layout", "agent"].map(|part| cca.join(format!("hosts/sim/{part}.c"))));
    build.flag("-iquote").flag(cca.join("include").to_str().expect("path is UTF-8"));
    build.flag("-std=gnu11").flag("-ffreestanding").opt_level(2);
    build.warnings(true).extra_warnings(true).warnings_into_errors(true);
    if env::var_os("CARGO_FEATURE_SANITIZE").is_some() {
        build.flag("-fsanitize=address,undefined").flag("-fno-sanitize-recover=all");
        build.flag("-fno-omit-frame-pointer").debug(true);
        link_sanitizers(&build);
    }
    build.compile("cca_controllers");
}

/// Links the sanitizers' libraries, which rustc's `-nodefaultlibs` keeps the C compiler from doing.
/// The address sanitizer must be the first library of the process, so tests run with it in
/// `LD_PRELOAD`; the Makefile has the whole command.
fn link_sanitizers(build: &cc::Build) {
    for library in ["asan", "ubsan"] {
        let file = format!("lib{library}.so");
        let output = build
            .get_compiler()
            .to_command()
            .arg(format!("-print-file-name={file}"))
            .output()
            .unwrap_or_else(|e| panic!("cannot ask the C compiler for {file}: {e}"));
        let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        let folder = path.parent().filter(|folder| folder.is_absolute());
        let folder = folder.unwrap_or_else(|| panic!("the C compiler has no {file}; use gcc"));
        println!("cargo:rustc-link-search=native={}", folder.display());
        println!("cargo:rustc-link-lib=dylib={library}");
    }
}

fn module_table(sources: &[PathBuf]) -> String {
    let mut symbols = String::new();
    let mut rows = String::new();
    for source in sources {
        let name = source.file_stem().and_then(|stem| stem.to_str()).expect("file name is UTF-8");
        let text = fs::read_to_string(source).expect("source is readable");
        let doc = head_comment(&text)
            .unwrap_or_else(|| panic!("{} does not open with a comment", source.display()));
        let name = name.replace('-', "_");
        writeln!(symbols, "    static cca_module_{name}: RawModule;").expect("String never fails");
        writeln!(
            rows,
            "    // SAFETY: an immutable object of the C library; only its address is taken.\n    \
             Module {{ raw: unsafe {{ &cca_module_{name} }}, doc: Cow::Borrowed({doc:?}), _library: None }},"
        )
        .expect("String never fails");
    }
    format!("extern \"C\" {{\n{symbols}}}\n\nstatic MODULES: &[Module] = &[\n{rows}];\n")
}

/// The first block comment, without its frame of stars; inner indentation is kept.
fn head_comment(source: &str) -> Option<String> {
    let start = source.find("/*")? + 2;
    let end = start + source[start..].find("*/")?;
    let lines = source[start..end].lines().map(|line| {
        let line = line.trim_start().strip_prefix('*').unwrap_or(line);
        line.strip_prefix(' ').unwrap_or(line).trim_end()
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    let text = text.trim_matches('\n');
    (!text.is_empty()).then(|| text.to_owned())
}
