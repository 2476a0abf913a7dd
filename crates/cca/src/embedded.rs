//! The sources of `cca/` that this library carries in itself, because the checkout is not there where it runs: what a
//! user's controller includes, and what kernel modules are compiled from.

use std::fs;
use std::io;
use std::path::Path;

include!(concat!(env!("OUT_DIR"), "/headers.rs"));

/// Writes what controllers include into `folder`: `cca/` as it is, `kernel/` for modules and `struct_ops/` for BPF
/// programs.
///
/// # Errors
/// When a file cannot be written.
pub fn write_headers(folder: &Path) -> io::Result<()> {
    write_files(folder, FILES)?;
    write_list(folder, "kernel", "hosts/module", &["kernel_module.h"])?;
    write_list(folder, "struct_ops", "hosts/struct_ops", &["vmlinux.h"])
}

/// Writes the headers that `headers.txt` of a host's folder names into `folder/to`: each includes `all`, and the file that
/// is named behind it.
fn write_list(folder: &Path, to: &str, host: &str, all: &[&str]) -> io::Result<()> {
    for line in listed(host) {
        let mut words = line.split_whitespace();
        let name = words.next().expect("a line that is not empty");
        let file = folder.join(to).join(name);
        fs::create_dir_all(file.parent().expect("below a folder"))?;
        let up = "../".repeat(name.matches('/').count() + 1);
        let includes = all.iter().copied().chain(words);
        let text = includes.map(|part| format!("#include \"{up}cca/{host}/{part}\"\n"));
        fs::write(file, text.collect::<String>())?;
    }
    Ok(())
}

/// The lines of `headers.txt` of a host's folder.
fn listed(host: &str) -> impl Iterator<Item = &'static str> {
    let list = text_of(&format!("{host}/headers.txt"));
    list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The text of a file of `cca/`.
pub(crate) fn text_of(path: &str) -> &'static str {
    FILES.iter().find(|(at, _)| *at == path).expect("embedded by the build script").1
}

/// Writes what kernel modules are compiled from into `folder`: `cca/` with the controllers and the headers of that host.
///
/// # Errors
/// When a file cannot be written.
pub fn write_sources(folder: &Path) -> io::Result<()> {
    write_files(folder, FILES)?;
    write_files(folder, SOURCES)
}

fn write_files(folder: &Path, files: &[(&str, &str)]) -> io::Result<()> {
    for (path, text) in files {
        let file = folder.join("cca").join(path);
        fs::create_dir_all(file.parent().expect("below a folder"))?;
        fs::write(file, text)?;
    }
    Ok(())
}
