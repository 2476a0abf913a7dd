//! What can go wrong, a variant for each thing that a caller can do differently.

use std::fmt::Write as _;

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
    #[error("{}", unknown(.name, .known))]
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
    #[error("{name}: got the name {kernel_name} for the kernel, wanted 1 to 15 letters, digits and _ (--as NAME)")]
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
    #[error("{controller}: {name}: got {got}, wanted a whole number from {min} to {max}")]
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
}

fn unknown(name: &str, known: &[String]) -> String {
    let mut text = format!("unknown controller {name}, wanted one of: {}", known.join(", "));
    if let Some(near) = nearest(name, known) {
        write!(text, "; did you mean {near}?").expect("String never fails");
    }
    text
}

/// Maximum number of names in a message; of more only the nearest is named.
const LISTED_MAX: usize = 12;

fn unknown_param(name: &str, known: &[String], of: &str) -> String {
    let wanted = match (nearest(name, known), known) {
        (_, []) => "wanted none: there are none".to_owned(),
        (Some(near), _) => format!("did you mean {near}?"),
        (None, known) if known.len() <= LISTED_MAX => {
            format!("wanted one of: {}", known.join(", "))
        }
        (None, known) => {
            format!("wanted one of {} (`dumbbell cca show {of}` lists them)", known.len())
        }
    };
    format!("{of}: unknown parameter {name}, {wanted}")
}

fn not_loaded(name: &str, loaded: &[String]) -> String {
    match loaded {
        [] => format!("{name}: is not loaded; none is"),
        loaded => format!("{name}: is not loaded; loaded are: {}", loaded.join(", ")),
    }
}

/// The known name that takes the fewest edits, if they are at most a third of its letters (or one).
fn nearest<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let best = known.iter().map(|one| (distance(name, one), one)).min()?;
    (best.0 <= (best.1.len() / 3).max(1)).then_some(best.1)
}

/// Minimum number of letters to insert, delete or replace (Levenshtein 1966).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let replaced = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_suggests_the_nearest() {
        let known: Vec<String> = ["bbr", "bbr2plus", "cubic"].map(str::to_owned).into();
        assert_eq!(nearest("bbr2pluss", &known), Some("bbr2plus"));
        assert_eq!(nearest("cubci", &known), None, "two edits in five letters are another word");
        assert_eq!(nearest("cubi", &known), Some("cubic"));
        assert_eq!(nearest("westwood", &known), None);
        let error = Error::UnknownController { name: "cubi".into(), known };
        let text =
            "unknown controller cubi, wanted one of: bbr, bbr2plus, cubic; did you mean cubic?";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn an_unknown_parameter_is_told_with_the_nearest_and_not_with_all() {
        let known: Vec<String> =
            (0..55).map(|i| format!("gain_{i}")).chain(["beta".into()]).collect();
        assert_eq!(
            unknown_param("bata", &known, "bbr2"),
            "bbr2: unknown parameter bata, did you mean beta?"
        );
        let text = "bbr2: unknown parameter colour, wanted one of 56 (`dumbbell cca show bbr2` lists them)";
        assert_eq!(unknown_param("colour", &known, "bbr2"), text);
        let text = "x: unknown parameter colour, wanted one of: beta";
        assert_eq!(unknown_param("colour", &known[55..], "x"), text);
    }

    #[test]
    fn distance_counts_edits() {
        for (a, b, edits) in [("", "abc", 3), ("abc", "abc", 0), ("kitten", "sitting", 3)] {
            assert_eq!(distance(a, b), edits, "{a} {b}");
            assert_eq!(distance(b, a), edits, "{b} {a}");
        }
    }
}
