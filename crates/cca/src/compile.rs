//! Compiles a user's own controller with the system's C compiler: one in our style (it includes
//! `cca.h`), or the source of a Linux congestion-control module as it is.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::complaint::{is_soft_float, mentions, Refused, NO_FLOATS};
use crate::embedded::write_headers;
use crate::job::{sanitizers, BuildError, Built, Form, Job, Lacking, NO_FLOAT_REGISTERS};
use crate::lacking;
use crate::process::{read_source, GoesOn};
use crate::rules::{self, Broken};
use crate::struct_ops;

/// Other files that one module may need.
const COMPANIONS_MAX: usize = 8;

/// Compiles `source` into the folder `out` (which exists) for a kernel of `hz` ticks a second.
///
/// # Errors
/// When there is no compiler, or it refuses the source: its first error, with file and line, and of a Linux module all
/// that it lacks.
pub fn compile(source: &Path, out: &Path, hz: u32) -> Result<Built, BuildError> {
    compile_while(source, out, hz, &mut || true)
}

/// The same, as long as `goes_on` says so, which is asked every 50 ms.
///
/// # Errors
/// As [`compile`]; some text when it is not to go on.
pub fn compile_while(
    source: &Path,
    out: &Path,
    hz: u32,
    goes_on: GoesOn<'_>,
) -> Result<Built, BuildError> {
    let wrong = |e: std::io::Error| BuildError::new(format!("{}: {e}", source.display()));
    let text = read_source(source).map_err(wrong)?;
    lacking::check_includes(source, &text)?;
    let compiler = find_compiler()?;
    let job = Job { source, text: &text, out, hz, compiler, goes_on: RefCell::new(goes_on) };
    write_headers(out).map_err(|e| BuildError::new(format!("{}: {e}", out.display())))?;
    if includes_cca_h(&text) {
        job.ours()
    } else if struct_ops::is_program(&text) {
        job.program()
    } else {
        job.module()
    }
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
    Err(BuildError::new(match chosen {
        Some(cc) => format!("$CC is \"{cc}\", which does not run; wanted a C compiler"),
        None => {
            "no C compiler: none of cc, gcc and clang runs (set $CC, or install gcc)".to_owned()
        }
    }))
}

impl Job<'_> {
    fn ours(&self) -> Result<Built, BuildError> {
        let stem = self.stem();
        let object = self.out.join("controller.o");
        let mut cc = self.cc();
        // A copy of a controller finds what it shares with others in `cca/`, unless it lies beside it.
        cc.arg("-iquote").arg(self.out.join("cca/include"));
        cc.arg("-iquote").arg(self.out.join("cca")).args(NO_FLOAT_REGISTERS);
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
            fs::read(object).map_err(|e| BuildError::new(format!("{}: {e}", object.display())))?;
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
        Err(BuildError::new(format!("{}: {why}", self.place_of(symbol))))
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
        let mut form = Form::of(self.text, false);
        if let Err(refused) = self.object(self.source, &object, form, false) {
            let old = Form::of(self.text, true);
            if let Err(again) = self.object(self.source, &object, old, false) {
                let is_old = again.errors() < refused.errors();
                let nearer = if is_old { again } else { refused };
                let form = if is_old { old } else { form };
                return Err(self.lacking_error(&self.module_cc(form), &nearer));
            }
            form = old;
        }
        self.link_with(vec![object], &["module/module", "module/param", "module/memory"], form)
    }

    /// Links with these files of `cca/hosts`.
    pub(crate) fn link_with(
        &self,
        mut objects: Vec<PathBuf>,
        parts: &[&str],
        form: Form,
    ) -> Result<Built, BuildError> {
        for part in parts {
            let glue = self.out.join(format!("glue-{}.o", part.replace('/', "-")));
            let source = self.out.join("cca/hosts").join(part).with_extension("c");
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
                return Err(BuildError::new(refused.float_error(self.source, &symbol)));
            }
            let found = self.exporter(&symbol).filter(|file| !companions.contains(file));
            let Some(file) = found.filter(|_| companions.len() < COMPANIONS_MAX) else {
                return Err(self.undefined_error(&symbol, &refused.all_undefined()));
            };
            let object = self.out.join(format!("companion{}.o", companions.len()));
            self.object(&file, &object, form, true).map_err(|refused| self.error(&refused))?;
            objects.push(object);
            companions.push(file);
        }
    }

    fn undefined_error(&self, symbol: &str, all: &[String]) -> BuildError {
        let others: Vec<_> = all.iter().filter(|other| *other != symbol).cloned().collect();
        let more = match &others[..] {
            [] => String::new(),
            others => format!("; nor are {}", lacking::listed(others)),
        };
        let text = format!(
            "{}: `{symbol}` is not defined: not by this program, and no .c file in its folder exports it{more}",
            self.place_of(symbol)
        );
        let lacking = Lacking { headers: Vec::new(), names: all.to_vec() };
        BuildError::of_lacking(text, lacking)
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
        let mut cc = self.module_cc(form);
        if companion {
            cc.arg("-DCCA_MODULE_COMPANION");
        }
        cc.arg("-MMD").arg("-c").arg(file).arg("-o").arg(to);
        self.run(cc)
    }

    /// The compiler for files of a kernel module.
    fn module_cc(&self, form: Form) -> Command {
        let mut cc = self.kernel_cc(form);
        cc.arg("-isystem").arg(self.out.join("kernel"));
        cc
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

    fn built(&self, library: PathBuf, symbol: Option<String>, companions: Vec<PathBuf>) -> Built {
        let compiler = self.compiler.1.clone();
        let headers = self.headers();
        Built { library, symbol, doc: head_comment(self.text), compiler, companions, headers }
    }
}

/// The files of a rule of make.
fn prerequisites(rule: &str) -> Vec<PathBuf> {
    let Some((_, files)) = rule.split_once(": ") else { return Vec::new() };
    let files = files.replace("\\\n", " ").replace("\\ ", "\u{1}");
    files.split_whitespace().map(|file| file.replace('\u{1}', " ").into()).collect()
}
