//! Compiles a user's own controller with the system's C compiler: one in our style (it includes
//! `cca.h`), or the source of a Linux congestion-control module as it is.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::complaint::{is_soft_float, mentions, Refused, NO_FLOATS};
use crate::embedded::write_headers;
use crate::library::{self, LoadError};
use crate::module::Module;
use crate::rules::{self, Broken};

/// Private state that Linux 6.12 grants (`ICSK_CA_PRIV_SIZE`), bytes.
const PRIV_BYTES: u32 = 104;
/// Private state for modules of Google's trees, which grant more; enough for any of them, bytes.
const PRIV_BYTES_LARGE: u32 = 512;
/// Names that only modules of Google's trees use.
const LARGE_MARKS: [&str; 4] = ["skb_marked_lost", "tx_in_flight", "fast_ack_mode", "tso_segs"];
/// Makes the compiler call functions for floating point, which are not there.
const NO_FLOAT_REGISTERS: &[&str] = if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
    &["-mgeneral-regs-only"]
} else {
    &[]
};
/// Other files that one module may need.
const COMPANIONS_MAX: usize = 8;

/// A controller that cannot be built; the text is one or few lines, the first naming file and line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BuildError(String);

/// A compiled controller.
#[derive(Clone, Debug)]
pub struct Built {
    /// The shared object.
    pub library: PathBuf,
    /// Its table's symbol when it is in our style; none for a kernel module.
    pub symbol: Option<String>,
    /// Head comment of the source.
    pub doc: String,
    /// The compiler and its version.
    pub compiler: String,
    /// Other files that were compiled along, because they export a symbol that the module needs.
    pub companions: Vec<PathBuf>,
    /// Headers beside the sources that they include.
    pub headers: Vec<PathBuf>,
}

impl Built {
    /// Opens it with default parameters.
    ///
    /// # Errors
    /// When it holds no controller, or its `module_init()` fails.
    pub fn open(&self) -> Result<Module, LoadError> {
        let none = |_: &Module| Ok(Vec::new());
        library::open(&self.library, self.symbol.as_deref(), self.doc.clone(), &none)
    }
}

/// Compiles `source` into the folder `out` (which exists) for a kernel of `hz` ticks a second.
///
/// # Errors
/// When there is no compiler, or it refuses the source: its first error, with file and line.
pub fn compile(source: &Path, out: &Path, hz: u32) -> Result<Built, BuildError> {
    let text = read(source)?;
    let job = Job { source, text: &text, out, hz, compiler: find_compiler()? };
    write_headers(out).map_err(|e| BuildError(format!("{}: {e}", out.display())))?;
    if includes_cca_h(&text) {
        job.ours()
    } else {
        job.module()
    }
}

fn read(path: &Path) -> Result<String, BuildError> {
    let bytes = fs::read(path).map_err(|e| BuildError(format!("{}: {e}", path.display())))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Is this the text of a controller in our style?
#[must_use]
pub fn includes_cca_h(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start().strip_prefix('#').map(str::trim_start);
        let file = line.and_then(|line| line.strip_prefix("include")).map(str::trim_start);
        file.is_some_and(|file| file.starts_with("\"cca.h\""))
    })
}

/// First block comment, without its frame of stars; a line that is only a licence is no comment.
fn head_comment(text: &str) -> String {
    let mut rest = text;
    while let Some(start) = rest.find("/*") {
        let body = &rest[start + 2..];
        let Some(end) = body.find("*/") else { break };
        let lines = body[..end].lines().map(|line| {
            let line = line.trim_start();
            let line = line.trim_start_matches('*');
            line.strip_prefix(' ').unwrap_or(line).trim_end()
        });
        let comment = lines.collect::<Vec<_>>().join("\n").trim_matches('\n').to_owned();
        if !comment.trim_start().starts_with("SPDX-License-Identifier") {
            return comment;
        }
        rest = &body[end..];
    }
    String::new()
}

/// `$CC`, else the first of cc, gcc and clang that runs, with its version.
fn find_compiler() -> Result<(String, String), BuildError> {
    let chosen = env::var("CC").ok().filter(|cc| !cc.is_empty());
    let names = match &chosen {
        Some(cc) => vec![cc.as_str()],
        None => vec!["cc", "gcc", "clang"],
    };
    for name in &names {
        let asked = Command::new(name).arg("--version").output();
        if let Some(output) = asked.ok().filter(|output| output.status.success()) {
            let told = String::from_utf8_lossy(&output.stdout).into_owned();
            return Ok(((*name).to_owned(), told.lines().next().unwrap_or(name).to_owned()));
        }
    }
    Err(BuildError(match chosen {
        Some(cc) => format!("$CC is \"{cc}\", which does not run; wanted a C compiler"),
        None => {
            "no C compiler: none of cc, gcc and clang runs (set $CC, or install gcc)".to_owned()
        }
    }))
}

/// One source on its way to a shared object.
struct Job<'a> {
    source: &'a Path,
    text: &'a str,
    out: &'a Path,
    hz: u32,
    compiler: (String, String),
}

/// What of a module's form is not Linux 6.12's.
#[derive(Clone, Copy)]
struct Form {
    /// `cong_control()` has two arguments, as before Linux 6.10.
    old_control: bool,
    /// Stamps are a `struct skb_mstamp` and `tcp_time_stamp` is the tick, as before Linux 4.13.
    old_stamps: bool,
    /// It takes the socket option of tcp-brutal.
    has_brutal: bool,
}

impl Form {
    fn of(text: &str) -> Form {
        Form {
            old_control: false,
            old_stamps: text.contains("struct skb_mstamp "),
            has_brutal: mentions(text, "TCP_BRUTAL_PARAMS"),
        }
    }
}

impl Job<'_> {
    fn ours(&self) -> Result<Built, BuildError> {
        let stem = self.stem();
        let object = self.out.join("controller.o");
        let mut cc = self.cc();
        cc.arg("-iquote").arg(self.out.join("cca/include")).args(NO_FLOAT_REGISTERS);
        cc.arg("-MMD").arg("-c").arg(self.source).arg("-o").arg(&object);
        self.run(cc).map_err(|refused| self.error(&refused))?;
        self.check_rules(&object)?;
        let library = self.out.join("controller.so");
        let objects: Vec<_> = [object].into_iter().chain(self.sanitizer_options()?).collect();
        self.run(self.linker(&objects, &library)).map_err(|refused| self.error(&refused))?;
        let symbol = format!("cca_module_{}", stem.replace('-', "_"));
        Ok(self.built(library, Some(symbol), Vec::new()))
    }

    /// Refuses what only the simulator could run.
    fn check_rules(&self, object: &Path) -> Result<(), BuildError> {
        let bytes =
            fs::read(object).map_err(|e| BuildError(format!("{}: {e}", object.display())))?;
        let Some(broken) = rules::broken(&bytes) else { return Ok(()) };
        let symbol = broken.symbol();
        let why = match &broken {
            Broken::Missing(_) if is_soft_float(symbol) => NO_FLOATS.to_owned(),
            Broken::Missing(_) => format!("error: `{symbol}` is not there: a controller has no C library"),
            Broken::Variable(_) => format!(
                "error: `{symbol}` is a variable that all flows would share, wanted constants only; what a flow \
                 remembers is its state (CCA_STATE)"
            ),
        };
        Err(BuildError(format!("{}: {why}", self.place_of(symbol))))
    }

    /// The source, and the first line that mentions a symbol if one does.
    fn place_of(&self, symbol: &str) -> String {
        let used = self.text.lines().position(|line| mentions(line, symbol));
        let line = used.map(|n| format!(":{}", n + 1)).unwrap_or_default();
        format!("{}{line}", self.source.display())
    }

    /// The command that links objects; what they lack is an error.
    fn linker(&self, objects: &[PathBuf], library: &Path) -> Command {
        let mut cc = Command::new(&self.compiler.0);
        cc.env("LC_ALL", "C").env_remove("LD_PRELOAD").args(["-shared", "-Wl,-z,defs"]);
        cc.args(sanitizers()).args(objects).arg("-o").arg(library);
        cc
    }

    fn module(&self) -> Result<Built, BuildError> {
        let object = self.out.join("module.o");
        let mut form = Form::of(self.text);
        if let Err(refused) = self.object(self.source, &object, form, false) {
            let old = Form { old_control: true, ..form };
            if let Err(again) = self.object(self.source, &object, old, false) {
                let nearer = if again.errors() < refused.errors() { again } else { refused };
                return Err(self.error(&nearer));
            }
            form = old;
        }
        let mut objects = vec![object];
        for part in ["module", "param"] {
            let glue = self.out.join(format!("glue-{part}.o"));
            let source = self.out.join("cca/hosts/module").join(part).with_extension("c");
            self.object(&source, &glue, form, false).map_err(|refused| self.error(&refused))?;
            objects.push(glue);
        }
        objects.extend(self.sanitizer_options()?);
        self.link(objects, form)
    }

    /// What the sanitizer's library asks the program for, where there is a sanitizer.
    fn sanitizer_options(&self) -> Result<Option<PathBuf>, BuildError> {
        if sanitizers().is_empty() {
            return Ok(None);
        }
        let object = self.out.join("sanitize.o");
        let mut cc = self.cc();
        cc.arg("-c").arg(self.out.join("cca/hosts/sim/sanitize.c")).arg("-o").arg(&object);
        self.run(cc).map_err(|refused| self.error(&refused))?;
        Ok(Some(object))
    }

    /// Links; searches the other files in the source's folder for undefined symbols.
    fn link(&self, mut objects: Vec<PathBuf>, form: Form) -> Result<Built, BuildError> {
        let library = self.out.join("controller.so");
        let mut companions: Vec<PathBuf> = Vec::new();
        loop {
            let Err(refused) = self.run(self.linker(&objects, &library)) else {
                return Ok(self.built(library, None, companions));
            };
            let Some(symbol) = refused.undefined() else { return Err(self.error(&refused)) };
            if is_soft_float(&symbol) {
                return Err(BuildError(refused.float_error(self.source, &symbol)));
            }
            let found = self.exporter(&symbol).filter(|file| !companions.contains(file));
            let Some(file) = found.filter(|_| companions.len() < COMPANIONS_MAX) else {
                return Err(self.undefined_error(&symbol));
            };
            let object = self.out.join(format!("companion{}.o", companions.len()));
            self.object(&file, &object, form, true).map_err(|refused| self.error(&refused))?;
            objects.push(object);
            companions.push(file);
        }
    }

    fn undefined_error(&self, symbol: &str) -> BuildError {
        BuildError(format!(
            "{}: `{symbol}` is not defined: not by this program, and no .c file in its folder exports it",
            self.place_of(symbol)
        ))
    }

    /// The file in the source's folder that has `EXPORT_SYMBOL(symbol)`.
    fn exporter(&self, symbol: &str) -> Option<PathBuf> {
        let folder = self.source.parent().filter(|p| !p.as_os_str().is_empty());
        let mut files: Vec<PathBuf> = fs::read_dir(folder.unwrap_or(Path::new(".")))
            .ok()?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|e| e == "c") && path != self.source)
            .collect();
        files.sort();
        files.into_iter().find(|file| {
            let text = fs::read(file).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            text.lines().any(|l| l.starts_with("EXPORT_SYMBOL") && mentions(l, symbol))
        })
    }

    /// Compiles one file of a kernel module.
    fn object(&self, file: &Path, to: &Path, form: Form, companion: bool) -> Result<(), Refused> {
        let is_large = LARGE_MARKS.iter().any(|mark| mentions(self.text, mark));
        let bytes = if is_large { PRIV_BYTES_LARGE } else { PRIV_BYTES };
        let mut cc = self.cc();
        cc.arg("-nostdinc").arg("-isystem").arg(self.out.join("kernel"));
        cc.args(["-fwrapv", "-fno-strict-aliasing", "-funsigned-char", "-fvisibility=hidden"]);
        cc.arg(format!("-DCCA_MODULE_HZ={}", self.hz));
        cc.arg(format!("-DCCA_MODULE_PRIV_BYTES={bytes}"));
        cc.arg(format!("-DCCA_MODULE_NAME=\"{}\"", self.stem()));
        cc.args(NO_FLOAT_REGISTERS);
        for (is_so, name) in [
            (form.old_control, "-DCCA_MODULE_OLD_CONTROL"),
            (form.old_stamps, "-DCCA_MODULE_OLD_STAMPS"),
            (form.has_brutal, "-DCCA_MODULE_BRUTAL"),
        ] {
            if is_so {
                cc.arg(name);
            }
        }
        if companion {
            cc.arg("-DCCA_MODULE_COMPANION");
        }
        cc.arg("-MMD").arg("-c").arg(file).arg("-o").arg(to);
        self.run(cc)
    }

    /// Headers of the user's that the sources include, by the lists that the compiler wrote beside the objects.
    fn headers(&self) -> Vec<PathBuf> {
        let lists =
            fs::read_dir(self.out).into_iter().flatten().filter_map(|e| Some(e.ok()?.path()));
        let lists = lists.filter(|path| path.extension().is_some_and(|e| e == "d"));
        let texts = lists.filter_map(|path| fs::read_to_string(path).ok());
        let found: BTreeSet<PathBuf> = texts.flat_map(|text| prerequisites(&text)).collect();
        let is_theirs = |path: &PathBuf| {
            !path.starts_with(self.out) && path.extension().is_none_or(|e| e != "c")
        };
        found.into_iter().filter(is_theirs).collect()
    }

    /// The compiler with what all kinds need. What C forgives and a kernel does not is an error.
    fn cc(&self) -> Command {
        let mut cc = Command::new(&self.compiler.0);
        cc.env("LC_ALL", "C").env_remove("LD_PRELOAD").args([
            "-std=gnu11",
            "-O2",
            "-g",
            "-fPIC",
            "-ffreestanding",
        ]);
        for kind in
            ["implicit-function-declaration", "incompatible-pointer-types", "int-conversion"]
        {
            cc.arg(format!("-Werror={kind}"));
        }
        cc.args(sanitizers());
        cc
    }

    fn run(&self, mut command: Command) -> Result<(), Refused> {
        let output = command.output().map_err(|e| Refused(format!("{}: {e}", self.compiler.0)))?;
        if output.status.success() {
            return Ok(());
        }
        Err(Refused(String::from_utf8_lossy(&output.stderr).into_owned()))
    }

    fn error(&self, refused: &Refused) -> BuildError {
        BuildError(refused.first_error(self.out))
    }

    fn stem(&self) -> String {
        self.source.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn built(&self, library: PathBuf, symbol: Option<String>, companions: Vec<PathBuf>) -> Built {
        let compiler = self.compiler.1.clone();
        let headers = self.headers();
        Built { library, symbol, doc: head_comment(self.text), compiler, companions, headers }
    }
}

/// `CCA_SANITIZE=1` at run time, for tests in a process that has the sanitizers loaded.
fn sanitizers() -> &'static [&'static str] {
    match env::var("CCA_SANITIZE") {
        Ok(on) if on == "1" => &["-fsanitize=undefined", "-fno-sanitize-recover=all"],
        _ => &[],
    }
}

/// The files of a rule of make.
fn prerequisites(rule: &str) -> Vec<PathBuf> {
    let Some((_, files)) = rule.split_once(": ") else { return Vec::new() };
    let files = files.replace("\\\n", " ").replace("\\ ", "\u{1}");
    files.split_whitespace().map(|file| file.replace('\u{1}', " ").into()).collect()
}
