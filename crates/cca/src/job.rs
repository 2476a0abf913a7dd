//! One source of a user's on its way to a shared object: how the compiler is called for it, and what comes of that.

use std::cell::RefCell;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::complaint::{mentions, Refused};
use crate::library::{self, LoadError};
use crate::module::Module;
use crate::process::{self, GoesOn};

/// Private state that Linux 6.12 grants (`ICSK_CA_PRIV_SIZE`), bytes.
const PRIV_BYTES: u32 = 104;
/// Private state for modules of Google's trees, which grant more; enough for any of them, bytes.
const PRIV_BYTES_LARGE: u32 = 512;
/// Names that only modules of Google's trees use.
const LARGE_MARKS: [&str; 4] = ["skb_marked_lost", "tx_in_flight", "fast_ack_mode", "tso_segs"];
/// Makes the compiler call functions for floating point, which are not there.
pub(crate) const NO_FLOAT_REGISTERS: &[&str] =
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        &["-mgeneral-regs-only"]
    } else {
        &[]
    };
/// A controller that cannot be built; the text is one or few lines, the first naming file and line.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct BuildError {
    text: String,
    /// What a Linux module uses and the simulator does not have.
    pub lacking: Lacking,
}

impl BuildError {
    pub(crate) fn new(text: String) -> BuildError {
        BuildError { text, lacking: Lacking::default() }
    }

    /// The same, of what lacks something.
    pub(crate) fn of_lacking(text: String, lacking: Lacking) -> BuildError {
        BuildError { text, lacking }
    }
}

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
        library::open(&self.library, self.symbol.as_deref(), self.doc.clone(), 0, &none)
    }
}

/// What a source uses and the simulator does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lacking {
    /// Headers, as they are included.
    pub headers: Vec<String>,
    /// Functions, fields, types and other names.
    pub names: Vec<String>,
}

/// One source on its way to a shared object.
pub(crate) struct Job<'a> {
    pub(crate) source: &'a Path,
    pub(crate) text: &'a str,
    pub(crate) out: &'a Path,
    pub(crate) hz: u32,
    pub(crate) compiler: (String, String),
    pub(crate) goes_on: RefCell<GoesOn<'a>>,
}

/// What of a module's form is not Linux 6.12's.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    /// `cong_control()` has two arguments, as before Linux 6.10.
    old_control: bool,
    /// Stamps are a `struct skb_mstamp` and `tcp_time_stamp` is the tick, as before Linux 4.13.
    old_stamps: bool,
    /// It takes the socket option of tcp-brutal.
    has_brutal: bool,
}

impl Form {
    pub(crate) fn of(text: &str, old_control: bool) -> Form {
        Form {
            old_control,
            old_stamps: text.contains("struct skb_mstamp "),
            has_brutal: mentions(text, "TCP_BRUTAL_PARAMS"),
        }
    }
}

impl Job<'_> {
    /// The compiler for code of a kernel, without its headers.
    pub(crate) fn kernel_cc(&self, form: Form) -> Command {
        let is_large = LARGE_MARKS.iter().any(|mark| mentions(self.text, mark));
        let bytes = if is_large { PRIV_BYTES_LARGE } else { PRIV_BYTES };
        let mut cc = self.cc();
        cc.arg("-nostdinc");
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
        cc
    }

    /// The compiler with what all kinds need. What C forgives and a kernel does not is an error.
    pub(crate) fn cc(&self) -> Command {
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

    pub(crate) fn run(&self, command: Command) -> Result<(), Refused> {
        let said = process::run(command, &mut *self.goes_on.borrow_mut());
        let said = said.map_err(|e| Refused(format!("{}: {e}", self.compiler.0)))?;
        if said.is_good {
            Ok(())
        } else {
            Err(Refused(said.text))
        }
    }

    pub(crate) fn is_clang(&self) -> bool {
        self.compiler.1.contains("clang")
    }

    pub(crate) fn error(&self, refused: &Refused) -> BuildError {
        BuildError::new(refused.first_error(self.source, self.out))
    }

    pub(crate) fn stem(&self) -> String {
        self.source.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// `CCA_SANITIZE=1` at run time, for tests in a process that has the sanitizers loaded.
pub(crate) fn sanitizers() -> &'static [&'static str] {
    match env::var("CCA_SANITIZE") {
        Ok(on) if on == "1" => &["-fsanitize=undefined", "-fno-sanitize-recover=all"],
        _ => &[],
    }
}
