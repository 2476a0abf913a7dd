//! The sources of `cca/` that this library carries in itself, because the checkout is not there where it runs: what a
//! user's controller includes, and what kernel modules are compiled from.

use std::fs;
use std::io;
use std::path::Path;

include!(concat!(env!("OUT_DIR"), "/headers.rs"));

/// Writes what controllers include into `folder`: `cca/` as it is, and `kernel/` for modules.
///
/// # Errors
/// When a file cannot be written.
pub fn write_headers(folder: &Path) -> io::Result<()> {
    write_files(folder, FILES)?;
    let list = FILES.iter().find(|(path, _)| *path == "hosts/module/headers.txt");
    let (_, list) = list.expect("embedded by the build script");
    for name in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let file = folder.join("kernel").join(name);
        fs::create_dir_all(file.parent().expect("below a folder"))?;
        let up = "../".repeat(name.matches('/').count() + 1);
        let target = if name.contains('/') { "kernel_module.h" } else { name };
        fs::write(file, format!("#include \"{up}cca/hosts/module/{target}\"\n"))?;
    }
    Ok(())
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
