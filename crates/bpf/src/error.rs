//! What can go wrong, a variant for each thing that a caller can do differently.

use cca::shown;

/// Why the kernel has not got, or not changed, a controller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not root, or root of a container only.
    #[error("loading and reading controllers needs root (CAP_SYS_ADMIN and CAP_NET_ADMIN), which this process is not")]
    NotPermitted,
    /// The kernel cannot do it; the text says what it lacks.
    #[error("this kernel ({release}) cannot take controllers from BPF: {lacks}")]
    Kernel {
        /// `uname -r`.
        release: String,
        /// What it lacks.
        lacks: String,
    },
    /// A library of the system is not there.
    #[error("cannot load {name}, which controllers in the kernel need: install it (Debian and Ubuntu: apt install libelf1 zlib1g; Fedora: dnf install elfutils-libelf zlib)")]
    Library {
        /// Its file name.
        name: String,
    },
    /// The file system for pins cannot be used.
    #[error("{0}")]
    Bpffs(String),
    /// The kernel's verifier does not accept a program.
    #[error("{name}: the kernel's verifier refuses program `{program}`:\n{log}")]
    Refused {
        /// The controller.
        name: String,
        /// Which of its hooks.
        program: String,
        /// The last lines of the verifier's log.
        log: String,
    },
    /// libbpf or the kernel fails otherwise.
    #[error("{name}: {doing}: {reason}")]
    Load {
        /// The controller.
        name: String,
        /// What was tried.
        doing: &'static str,
        /// What libbpf says.
        reason: String,
    },
    /// No object of that name was built in.
    #[error("unknown controller {}, wanted one of: {}, a C file (.c) or a policy (.safetensors)", shown(.name), .known.join(", "))]
    UnknownController {
        /// As given.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// The program was built without clang.
    #[error("{name}: no objects for BPF are in this build, because it was made without clang 14 or newer: install clang and build again (make build)")]
    NotBuilt {
        /// As given.
        name: String,
    },
    /// It is there already.
    #[error("{name}: the name {kernel_name} is taken by a controller that is loaded already; `dumbbell kernel unload {kernel_name}` first, or load this one under another name (--as NAME)")]
    AlreadyLoaded {
        /// As given.
        name: String,
        /// The kernel's name for it.
        kernel_name: String,
    },
    /// Somebody else registered that name.
    #[error("{name}: the kernel has a controller {kernel_name} that was not loaded by this program; load this one under another name (--as NAME)")]
    NameTaken {
        /// As given.
        name: String,
        /// The kernel's name for it.
        kernel_name: String,
    },
    /// The kernel takes no such name.
    #[error("{name}: got the name {} for the kernel, wanted 1 to 15 letters, digits and _ (--as NAME)", shown(.kernel_name))]
    BadName {
        /// As given.
        name: String,
        /// The name.
        kernel_name: String,
    },
    /// It is not there.
    #[error("{}", not_loaded(.name, .loaded))]
    NotLoaded {
        /// As given.
        name: String,
        /// Those that are.
        loaded: Vec<String>,
    },
    /// Another process holds it.
    #[error("{name}: is held by another process (load --foreground): end that")]
    Held {
        /// As given.
        name: String,
    },
    /// The controller has no such parameter.
    #[error("{}", unknown_param(.name, .known, .controller))]
    UnknownParam {
        /// The controller.
        controller: String,
        /// As given.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// The value is out of range.
    #[error("{controller}: {name}: got {}, wanted a whole number from {min} to {max}", shown(.got))]
    OutOfRange {
        /// The controller.
        controller: String,
        /// The parameter.
        name: String,
        /// As given.
        got: String,
        /// Minimum value.
        min: u32,
        /// Maximum value.
        max: u32,
    },
    /// There is no compiler for a source of one's own.
    #[error("{source_file}: cannot be compiled for BPF: {clang}: {reason} (install clang 14 or newer, or set $CLANG)")]
    NoClang {
        /// The source.
        source_file: String,
        /// The compiler.
        clang: String,
        /// What the system says.
        reason: String,
    },
    /// A source of one's own does not compile, or is not a controller in our style.
    #[error("{0}")]
    Source(String),
}

impl Error {
    /// Is the caller's input wrong, rather than the machine unable?
    #[must_use]
    pub fn is_input(&self) -> bool {
        match self {
            Self::UnknownController { .. }
            | Self::UnknownParam { .. }
            | Self::OutOfRange { .. }
            | Self::AlreadyLoaded { .. }
            | Self::NameTaken { .. }
            | Self::BadName { .. }
            | Self::NotLoaded { .. }
            | Self::NoClang { .. }
            | Self::Source(_) => true,
            Self::NotPermitted
            | Self::Kernel { .. }
            | Self::Bpffs(_)
            | Self::Library { .. }
            | Self::Refused { .. }
            | Self::Load { .. }
            | Self::NotBuilt { .. }
            | Self::Held { .. } => false,
        }
    }

    /// The name that does not exist, and those that do, for a suggestion.
    #[must_use]
    pub fn unknown(&self) -> Option<(&str, &[String])> {
        match self {
            Self::UnknownController { name, known } | Self::UnknownParam { name, known, .. } => {
                Some((name, known))
            }
            _ => None,
        }
    }
}

/// Maximum number of names in a message; of more only their number is given.
const LISTED_MAX: usize = 12;

fn unknown_param(name: &str, known: &[String], of: &str) -> String {
    let wanted = match known {
        [] => "wanted none: there are none".to_owned(),
        known if known.len() <= LISTED_MAX => format!("wanted one of: {}", known.join(", ")),
        known => format!("wanted one of {} (`dumbbell cca show {of}` lists them)", known.len()),
    };
    format!("{of}: unknown parameter {}, {wanted}", shown(name))
}

fn not_loaded(name: &str, loaded: &[String]) -> String {
    let name = shown(name);
    match loaded {
        [] => format!("{name}: is not loaded; none is"),
        loaded => format!("{name}: is not loaded; loaded are: {}", loaded.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_parameters_only_their_number_is_given() {
        let known: Vec<String> =
            (0..55).map(|i| format!("gain_{i}")).chain(["beta".into()]).collect();
        let text = "bbr2: unknown parameter colour, wanted one of 56 (`dumbbell cca show bbr2` lists them)";
        assert_eq!(unknown_param("colour", &known, "bbr2"), text);
        let text = "x: unknown parameter colour, wanted one of: beta";
        assert_eq!(unknown_param("colour", &known[55..], "x"), text);
    }
}
