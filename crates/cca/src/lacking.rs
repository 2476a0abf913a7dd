//! All that a source uses and the simulator does not have, named at once: headers, functions, fields and other names. The
//! compiler goes on past a header that is not there when an empty one stands for it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::complaint::Refused;
use crate::embedded::text_of;
use crate::job::{BuildError, Job, Lacking};

/// Headers that empty ones are made for: what one source may include.
const HEADERS_MAX: usize = 60;
/// Names of a kind that an error lists.
const LISTED: usize = 12;

/// What a name that is missing was used as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Function,
    Field,
    Type,
    Other,
}

/// Refuses to compile what includes something that is no file: the compiler would wait for a pipe, and read a device
/// until the memory ends.
pub(crate) fn check_includes(source: &Path, text: &str) -> Result<(), BuildError> {
    let folder = source.parent().unwrap_or(Path::new("."));
    for (n, line) in text.lines().enumerate() {
        let Some(name) = included(line) else { continue };
        let Ok(state) = fs::metadata(folder.join(name)) else { continue };
        if !state.is_file() && !state.is_dir() {
            return Err(BuildError::new(format!(
                "{}:{}: got an #include of \"{name}\", which is not a regular file, wanted a header",
                source.display(),
                n + 1
            )));
        }
    }
    Ok(())
}

/// The name in an `#include`.
fn included(line: &str) -> Option<&str> {
    let line =
        line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
    let end = match line.chars().next()? {
        '"' => '"',
        '<' => '>',
        _ => return None,
    };
    line[1..].split(end).next()
}

impl Job<'_> {
    /// The error of a source that was refused, with all that it lacks where it lacks several things; `cc` is the compiler
    /// that refused it, but for the file.
    pub(crate) fn lacking_error(&self, cc: &Command, refused: &Refused) -> BuildError {
        let first = self.error(refused);
        let mut headers = Vec::new();
        let mut names = BTreeMap::new();
        let said = self.all_errors(cc, refused, &mut headers);
        for line in said.as_ref().unwrap_or(refused).lines() {
            if let Some((name, kind)) = missing_name(line) {
                names.entry(name).or_insert(kind);
            }
        }
        let lacking = Lacking { headers, names: names.keys().cloned().collect() };
        let text = match told(self.source, &lacking.headers, &names) {
            Some(all) => format!("{first}; the simulator lacks in all: {all}"),
            None => first.to_string(),
        };
        BuildError::of_lacking(text, lacking)
    }

    /// What the compiler says with empty files for headers that are not there, whose names it collects; none where no
    /// header is missing.
    fn all_errors(
        &self,
        cc: &Command,
        refused: &Refused,
        headers: &mut Vec<String>,
    ) -> Option<Refused> {
        let stubs = self.out.join("absent");
        let mut last = Refused(refused.0.clone());
        loop {
            let Some(header) = last.lines().find_map(missing_header) else { break };
            // A name that leads out of the folder is none that the kernel has.
            let is_plain = Path::new(&header)
                .components()
                .all(|c| matches!(c, std::path::Component::Normal(_)));
            if headers.len() == HEADERS_MAX || headers.contains(&header) || !is_plain {
                break;
            }
            let file = stubs.join(&header);
            fs::create_dir_all(file.parent()?).and_then(|()| fs::write(&file, "")).ok()?;
            headers.push(header);
            let mut again = Command::new(cc.get_program());
            again.args(cc.get_args()).arg("-isystem").arg(&stubs).arg("-fsyntax-only");
            let is_clang = self.is_clang();
            again.arg(if is_clang { "-ferror-limit=0" } else { "-fmax-errors=0" }).arg(self.source);
            match self.run(again) {
                Ok(()) => return Some(Refused(String::new())),
                Err(refused) => last = refused,
            }
        }
        (!headers.is_empty()).then_some(last)
    }
}

/// What is lacking, kind by kind; none for a single name, which the compiler's error has said, and of which nothing is
/// known.
fn told(source: &Path, headers: &[String], names: &BTreeMap<String, Kind>) -> Option<String> {
    let purposes = headers.iter().any(|header| purpose(header).is_some());
    if headers.len() + names.len() < 2 && !purposes {
        return None;
    }
    let own = |header: &&String| !source.as_os_str().is_empty() && !header.contains('/');
    let named = |header: &String| match purpose(header) {
        Some(what) => format!("{header} ({what})"),
        None if own(&header) => format!("{header} (of the module's own, wanted in its folder)"),
        None => header.clone(),
    };
    let mut parts = Vec::new();
    if !headers.is_empty() {
        parts.push(format!("headers {}", listed(&headers.iter().map(named).collect::<Vec<_>>())));
    }
    for (kind, word, after) in [
        (Kind::Function, "functions", "()"),
        (Kind::Field, "fields", ""),
        (Kind::Type, "types", ""),
        (Kind::Other, "names", ""),
    ] {
        let of =
            names.iter().filter(|(_, k)| **k == kind).map(|(name, _)| format!("{name}{after}"));
        let of: Vec<String> = of.collect();
        if !of.is_empty() {
            parts.push(format!("{word} {}", listed(&of)));
        }
    }
    Some(parts.join("; "))
}

/// The first of these, and how many more there are.
pub(crate) fn listed(names: &[String]) -> String {
    let shown = names[..names.len().min(LISTED)].join(", ");
    match names.len().saturating_sub(LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// What a header, or all of its folder, is for.
fn purpose(header: &str) -> Option<&'static str> {
    text_of("hosts/module/lacking.txt").lines().filter(|line| !line.starts_with('#')).find_map(
        |line| {
            let (name, what) = line.split_once(' ')?;
            let is_it = header == name || name.ends_with('/') && header.starts_with(name);
            is_it.then_some(what)
        },
    )
}

/// The header that an error says is not there: gcc's and clang's words.
fn missing_header(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("fatal error: ")?;
    let name = rest
        .strip_suffix(": No such file or directory")
        .or_else(|| rest.strip_prefix('\'')?.strip_suffix("' file not found"))?;
    Some(name.to_owned())
}

/// The name that an error says is not there, and what it was used as: gcc's and clang's words.
pub(crate) fn missing_name(line: &str) -> Option<(String, Kind)> {
    const SAID: [(&str, &str, Kind); 11] = [
        ("implicit declaration of function '", "'", Kind::Function),
        ("call to undeclared function '", "'", Kind::Function),
        ("call to undeclared library function '", "'", Kind::Function),
        ("has no member named '", "'", Kind::Field),
        ("no member named '", "'", Kind::Field),
        ("unknown type name '", "'", Kind::Type),
        ("invalid use of undefined type 'struct ", "'", Kind::Type),
        ("incomplete definition of type 'struct ", "'", Kind::Type),
        ("has incomplete type 'struct ", "'", Kind::Type),
        ("use of undeclared identifier '", "'", Kind::Other),
        ("error: '", "' undeclared", Kind::Other),
    ];
    SAID.iter().find_map(|(before, after, kind)| {
        let (_, rest) = line.split_once(before)?;
        let (name, _) = rest.split_once(after)?;
        let is_name =
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        is_name.then(|| (name.to_owned(), *kind))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_compilers_words_name_what_is_missing() {
        for (line, name, kind) in [
            ("a.c:1:2: error: implicit declaration of function 'f'; did you mean 'g'? [-Werror=x]", "f", Kind::Function),
            ("a.c:1:2: error: call to undeclared function 'f'; ISO C99", "f", Kind::Function),
            ("a.c:1:2: error: 'struct sock' has no member named 'x'; did you mean 'y'?", "x", Kind::Field),
            ("a.c:1:2: error: no member named 'x' in 'struct sock'", "x", Kind::Field),
            ("a.c:1:2: error: unknown type name 't'", "t", Kind::Type),
            ("a.c:1:2: error: 'HZZ' undeclared (first use in this function)", "HZZ", Kind::Other),
            ("a.c:1:2: error: use of undeclared identifier 'HZZ'", "HZZ", Kind::Other),
        ] {
            assert_eq!(missing_name(line), Some((name.to_owned(), kind)), "{line}");
        }
        assert_eq!(missing_name("a.c:1:2: error: expected ';'"), None);
        for line in [
            "a.c:1:10: fatal error: linux/x.h: No such file or directory",
            "a.c:1:10: fatal error: 'linux/x.h' file not found",
        ] {
            assert_eq!(missing_header(line).as_deref(), Some("linux/x.h"));
        }
    }

    #[test]
    fn the_name_of_an_include_is_found() {
        for line in ["#include <a/b.h>", "  #  include \"a/b.h\" // x"] {
            assert_eq!(included(line), Some("a/b.h"));
        }
        for line in ["#define X", "include <a.h>", "#include MACRO"] {
            assert_eq!(included(line), None);
        }
    }
}
