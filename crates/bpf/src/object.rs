//! Compiled controllers: those built in, and a user's own.

use std::borrow::Cow;
use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use cca::{
    explained, includes_cca_h, is_program, kernel_name, prefixed_name, read_source, run_bounded,
    GoesOn,
};

use crate::flags::CLANG_FLAGS;
use crate::Error;

include!(concat!(env!("OUT_DIR"), "/objects.rs"));
include!(concat!(env!("OUT_DIR"), "/headers.rs"));

/// A controller compiled for BPF.
#[derive(Clone, Debug)]
pub struct Object {
    pub(crate) name: String,
    pub(crate) bytes: Cow<'static, [u8]>,
}

impl Object {
    /// Names of those built in; none if there was no clang.
    pub fn built_in() -> impl Iterator<Item = &'static str> {
        OBJECTS.iter().map(|(name, _)| *name)
    }

    /// The one built in under this name, which may also be the kernel's for it (`bbr_hsr` or `d_bbr_hsr` for `bbr-hsr`).
    ///
    /// # Errors
    /// When there is none of that name, or none at all.
    pub fn find(name: &str) -> Result<Self, Error> {
        if OBJECTS.is_empty() {
            return Err(Error::NotBuilt { name: name.to_owned() });
        }
        let is_it = |one: &str| [one, &*kernel_name(one), &*prefixed_name(one)].contains(&name);
        let found = OBJECTS.iter().find(|(one, _)| is_it(one));
        let (name, bytes) = found.ok_or_else(|| Error::UnknownController {
            name: name.to_owned(),
            known: Self::built_in().map(str::to_owned).collect(),
        })?;
        Ok(Self { name: (*name).to_owned(), bytes: Cow::Borrowed(bytes) })
    }

    /// Compiles a source in our style with `$CLANG`, else clang.
    ///
    /// # Errors
    /// When there is no clang, or it refuses the source: its first error, with file and line.
    pub fn compile(source: &Path) -> Result<Self, Error> {
        Self::compile_while(source, &mut || true)
    }

    /// The same, as long as `goes_on` says so, which is asked every 50 ms.
    ///
    /// # Errors
    /// As [`Object::compile`]; some text when it is not to go on.
    pub fn compile_while(source: &Path, goes_on: GoesOn<'_>) -> Result<Self, Error> {
        let wrong = |text: String| Error::Source(format!("{}: {text}", source.display()));
        let text = read_source(source).map_err(|e| wrong(e.to_string()))?;
        if !includes_cca_h(&text) {
            let more = if is_program(&text) {
                "a BPF program (SEC(\".struct_ops\")) has its own loaders: `clang -O2 -g -target bpf -c FILE.c`, then \
                 `bpftool struct_ops register FILE.o`; in the simulator `--cca FILE.c` runs it"
            } else {
                "a Linux module can be built as a module"
            };
            return Err(wrong(format!(
                "does not include \"cca.h\"; only controllers in that style are compiled for BPF ({more})"
            )));
        }
        let folder = tempfile::Builder::new().prefix("dumbbell-bpf-").tempdir();
        let folder = folder.map_err(|e| wrong(e.to_string()))?;
        for (path, text) in HEADERS {
            let file = folder.path().join(path);
            let made = fs::create_dir_all(file.parent().expect("below a folder"));
            made.and_then(|()| fs::write(&file, text)).map_err(|e| wrong(e.to_string()))?;
        }
        let object = folder.path().join("controller.bpf.o");
        run_clang(source, folder.path(), &object, goes_on)?;
        let bytes = fs::read(&object).map_err(|e| wrong(e.to_string()))?;
        let stem = source.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        Ok(Self { name: stem.unwrap_or_default(), bytes: Cow::Owned(bytes) })
    }

    /// Bytes that were compiled elsewhere; `name` is for messages.
    #[must_use]
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Self {
        Self { name: name.to_owned(), bytes: Cow::Owned(bytes) }
    }
}

fn run_clang(
    source: &Path,
    folder: &Path,
    object: &Path,
    goes_on: GoesOn<'_>,
) -> Result<(), Error> {
    let clang = env::var("CLANG").ok().filter(|name| !name.is_empty());
    let clang = clang.unwrap_or_else(|| "clang".to_owned());
    let mut run = Command::new(&clang);
    run.args(CLANG_FLAGS)
        .arg("-iquote")
        .arg(folder.join("cca/include"))
        .arg("-iquote")
        .arg(folder.join("cca"))
        .arg("-I")
        .arg(folder);
    run.arg("-c").arg(source).arg("-o").arg(object);
    let said = run_bounded(run, goes_on).map_err(|e| Error::NoClang {
        source_file: source.display().to_string(),
        clang: clang.clone(),
        reason: e.to_string(),
    })?;
    if said.is_good {
        Ok(())
    } else {
        Err(Error::Source(first_error(&said.text)))
    }
}

/// The first error that clang printed; of its back end's, the place and what the code must not do.
fn first_error(printed: &str) -> String {
    let first = printed.lines().find(|line| line.contains("error:"));
    let first =
        first.or_else(|| printed.lines().next()).unwrap_or("clang fails and does not say why");
    let is_division = ["= sdiv ", "= srem "].iter().any(|operation| first.contains(operation));
    if let (true, Some(place)) = (is_division, place_of(first)) {
        return format!(
            "{place}: error: signed division, which BPF does not have: make its operands unsigned"
        );
    }
    match first.split_once(": error: A call to built-in function '__") {
        Some((place, function)) if ["sf", "df"].iter().any(|kind| function.contains(kind)) => {
            format!("{place}: error: floating point, which BPF does not have")
        }
        _ => explained(first),
    }
}

/// The file, line and column in what the back end says of an instruction: the first after a comma.
fn place_of(said: &str) -> Option<&str> {
    said.split(", ").skip(1).map(|part| part.split(' ').next().unwrap_or(part)).find(|part| {
        let mut ends = part.rsplitn(3, ':');
        let is_number = |text: Option<&str>| text.is_some_and(|text| text.parse::<u32>().is_ok());
        is_number(ends.next()) && is_number(ends.next()) && ends.next().is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_bpf_lacks_is_said_with_its_place() {
        let division = "Error at line 19: Unsupport signed division for DAG: ...\n\
            fatal error: error in backend: Cannot select: 0x7: i32 = sdiv 0x8, 0x9, /a/mine.c:19:9 @[ /a/mine.c:17:1 ]\n";
        let wanted = "/a/mine.c:19:9: error: signed division, which BPF does not have: make its operands unsigned";
        assert_eq!(first_error(division), wanted);
        let floats = "/a/mine.c:19:9: error: A call to built-in function '__floatunsidf' is not supported.\n";
        assert_eq!(
            first_error(floats),
            "/a/mine.c:19:9: error: floating point, which BPF does not have"
        );
        let other = "warning: x\n/a/mine.c:2:1: error: A call to built-in function 'printf' is not supported.\n";
        assert_eq!(first_error(other), other.lines().nth(1).unwrap());
        assert_eq!(first_error(""), "clang fails and does not say why");
    }
}
