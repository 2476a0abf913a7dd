//! What C compilers and linkers say of a user's controller: the error that is shown of it, and what a linker lacks.

use std::collections::BTreeSet;
use std::path::Path;

/// What is said of floating point.
pub(crate) const NO_FLOATS: &str = "error: floating point, which code in a kernel may not use";
/// What gcc and clang say where something is written that is constant, as fields of the socket are.
const READ_ONLY: [&str; 3] =
    ["read-only member", "in read-only object", "with const-qualified type"];

/// What a run of the compiler or the linker said when it failed.
pub(crate) struct Refused(pub(crate) String);

impl Refused {
    /// How many errors there are.
    pub(crate) fn errors(&self) -> usize {
        self.0.lines().filter(|line| line.contains("error:")).count()
    }

    /// The first error of this source, without the paths of this program's own headers, which are in `folder`.
    pub(crate) fn first_error(&self, source: &Path, folder: &Path) -> String {
        let first = self.0.lines().position(|line| line.contains("error:"));
        let Some(line) = first.and_then(|first| self.0.lines().nth(first)) else {
            let said = self.0.lines().map(str::trim).find(|line| !line.is_empty());
            let said = said.unwrap_or("it does not say why");
            let more = if said.contains("out of memory") {
                "; does the source include a device, or a file without an end?"
            } else {
                ""
            };
            return explained(&format!("{}: the compiler fails: {said}{more}", source.display()));
        };
        let own = format!("{}/cca/", folder.display());
        let mut line = line.replace(&own, "<dumbbell>/");
        if let (true, Some((_, what))) = (line.starts_with("<dumbbell>/"), line.split_once(": ")) {
            // The error is in a macro of ours; a note below it says where the source uses that.
            let notes = self.0.lines().skip(first.unwrap_or(0) + 1);
            let used = notes.take_while(|line| !line.contains("error:")).find(|line| {
                line.contains(": note: in expansion of macro") && !line.starts_with(&own)
            });
            if let Some((place, _)) = used.and_then(|line| line.split_once(": note:")) {
                line = format!("{place}: {what}");
            }
        }
        if let Some((place, _)) = line.split_once(": error: SSE register") {
            return format!("{place}: {NO_FLOATS}");
        }
        explained(line.split(" [-Werror").next().unwrap_or(&line))
    }

    /// The lines of errors.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        self.0.lines().filter(|line| line.contains("error:"))
    }

    /// The first by name of what a linker lacks.
    pub(crate) fn undefined(&self) -> Option<String> {
        self.all_undefined().into_iter().next()
    }

    /// What a linker lacks, by name: "undefined reference to `x'", "undefined symbol: x".
    pub(crate) fn all_undefined(&self) -> Vec<String> {
        let names = self.0.lines().filter_map(|line| {
            let (_, rest) = line
                .split_once("undefined reference to ")
                .or_else(|| line.split_once("undefined symbol: "))?;
            let name: String = rest
                .trim_start_matches(['`', '\'', '"'])
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                .collect();
            (!name.is_empty()).then_some(name)
        });
        names.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The linker lacks what floating point is done with where the processor's registers for it may not be used.
    pub(crate) fn float_error(&self, source: &Path, symbol: &str) -> String {
        let line = self.0.lines().find(|line| mentions(line, symbol) && line.contains(".c:"));
        let place = line.and_then(|line| line.split(": undefined reference").next());
        let place = place.map_or_else(|| source.display().to_string(), str::to_owned);
        format!("{place}: {NO_FLOATS}")
    }
}

/// Letters of an error of a compiler that are shown: a `#error` may have any number.
const SHOWN: usize = 400;

/// An error of a compiler, cut to some lines of a terminal, with what may be written where it is of something that may
/// not.
#[must_use]
pub fn explained(error: &str) -> String {
    let error = match error.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &error[..end]),
        None => error.to_owned(),
    };
    let more = if READ_ONLY.iter().any(|words| error.contains(words)) {
        "; of the socket, a controller may write the fields that kernel.h marks W"
    } else {
        ""
    };
    format!("{error}{more}")
}

/// Is `word` in `text` as a whole identifier?
pub(crate) fn mentions(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part)
    })
}

/// Is this a function that a compiler calls for floating point where it has no registers for it?
pub(crate) fn is_soft_float(symbol: &str) -> bool {
    let Some(name) = symbol.strip_prefix("__") else { return false };
    let kind = ["add", "sub", "mul", "div", "neg", "fix", "float", "extend", "trunc"];
    let compared = ["lt", "le", "eq", "ne", "gt", "ge", "unord"]
        .map(|k| [format!("{k}sf2"), format!("{k}df2")]);
    (kind.iter().any(|kind| name.starts_with(kind)) && (name.contains("df") || name.contains("sf")))
        || compared.concat().iter().any(|compared| compared == name)
}
