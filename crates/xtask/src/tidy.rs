//! The style rules that a machine can judge. Each rule is a function from a file to findings.

use crate::circles;
use crate::functions::functions;
use crate::source::{Language, Source};
use std::fmt;

/// Lines of a source file: more than the first is a warning, more than the second an error.
const FILE_LINES: (usize, usize) = (400, 800);
/// Lines of a function, likewise.
const FUNCTION_LINES: (usize, usize) = (40, 70);

/// Something that a rule has to say about a file.
#[derive(Debug)]
pub struct Finding {
    pub path: String,
    /// From 1; 0 is the file as a whole.
    pub line: usize,
    pub text: String,
    error: bool,
}

impl Finding {
    fn new(source: &Source, line: usize, error: bool, text: String) -> Finding {
        Finding { path: source.path.clone(), line, text, error }
    }

    /// Whether the finding fails the build.
    pub fn is_error(&self) -> bool {
        self.error
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = if self.error { "error" } else { "warning" };
        write!(f, "{}:{}: {level}: {}", self.path, self.line, self.text)
    }
}

/// What all rules have to say about all files.
pub fn findings(sources: &[Source]) -> Vec<Finding> {
    let rules = [lengths, head_comment, unfinished, names, machine, lock_hosts];
    let mut found: Vec<Finding> =
        sources.iter().flat_map(|s| rules.iter().flat_map(move |rule| rule(s))).collect();
    found.extend(dead_files(sources));
    found.extend(circles::circles(sources).into_iter().map(|circle| {
        let text = format!("include or import each other: {}", circle.join(", "));
        Finding { path: circle[0].clone(), line: 0, text, error: true }
    }));
    found
}

fn is_code(source: &Source) -> bool {
    matches!(source.language, Language::Rust | Language::C | Language::Python)
}

/// Files and functions that a reader can hold in the head.
fn lengths(source: &Source) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut judge = |line, what: String, lines, (warn, most): (usize, usize)| {
        if lines > warn {
            let text = format!("{what} has {lines} lines, budget {warn}, limit {most}");
            found.push(Finding::new(source, line, lines > most, text));
        }
    };
    if is_code(source) {
        judge(0, "file".to_string(), source.text.lines().count(), FILE_LINES);
    }
    for function in functions(source) {
        let what = format!("function `{}`", function.name);
        judge(function.line, what, function.lines, FUNCTION_LINES);
    }
    found
}

/// Every source file opens by saying what it is.
fn head_comment(source: &Source) -> Vec<Finding> {
    let head = source
        .text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with("#!") && !line.contains("SPDX-"));
    let head = head.unwrap_or("");
    let (opens, wanted) = match source.language {
        Language::Rust => (head.starts_with("//!"), "//!"),
        Language::C => (head.starts_with("/*"), "/* ... */"),
        Language::Python => (["\"\"\"", "r\"\"\""].iter().any(|q| head.starts_with(q)), "\"\"\""),
        Language::Shell => (head.starts_with('#'), "#"),
        Language::Other => return Vec::new(),
    };
    if opens {
        return Vec::new();
    }
    vec![Finding::new(
        source,
        1,
        true,
        format!("does not open with a {wanted} comment on what it is"),
    )]
}

/// Marks of unfinished work, each split here so that this file does not find itself.
const UNFINISHED: [&str; 6] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
    concat!("NotImplemented", "Error"),
];

/// Nothing is left open in the code.
fn unfinished(source: &Source) -> Vec<Finding> {
    if source.language == Language::Other {
        return Vec::new();
    }
    per_line(source, |line| {
        let mark = UNFINISHED.iter().find(|mark| line.contains(**mark))?;
        Some(format!("`{mark}` left in the code"))
    })
}

/// Words that say nothing about what a thing is.
const EMPTY_WORDS: [&str; 6] = ["manager", "helper", "helpers", "util", "utils", "misc"];

/// Functions, types and files are named for what they are.
fn names(source: &Source) -> Vec<Finding> {
    if !is_code(source) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut judge = |line, name: &str| {
        if let Some(word) = words(name).find(|word| EMPTY_WORDS.contains(&word.as_str())) {
            let text = format!("`{name}`: `{word}` says nothing about what it is");
            found.push(Finding::new(source, line, true, text));
        }
        if name.starts_with("get_") {
            let text = format!("`{name}`: name what it returns, without `get_`");
            found.push(Finding::new(source, line, true, text));
        }
    };
    for folder in source.path.split('/') {
        judge(0, folder.split('.').next().unwrap_or(folder));
    }
    for function in functions(source) {
        judge(function.line, &function.name);
    }
    for (at, line) in source.code().lines().enumerate() {
        let mut tokens = line.split_whitespace().skip_while(|token| token.starts_with("pub"));
        if let (Some("struct" | "enum" | "trait" | "class" | "mod"), Some(name)) =
            (tokens.next(), tokens.next())
        {
            judge(
                at + 1,
                name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(""),
            );
        }
    }
    found
}

/// The words of a name in snake_case or CamelCase, in lower case.
fn words(name: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        if c == '_' || c.is_uppercase() {
            words.push(String::new());
        }
        if c != '_' {
            // The vector starts with one word and never shrinks.
            words.last_mut().expect("never empty").extend(c.to_lowercase());
        }
    }
    words.into_iter().filter(|word| !word.is_empty())
}

/// Folders of one machine, and settings of one network.
const MACHINE_FOLDERS: [&str; 8] = ["home", "root", "tmp", "opt", "mnt", "srv", "work", "Users"];
const NETWORK_WORDS: [&str; 5] = [
    concat!("index", "-url"),
    concat!("find", "-links"),
    concat!("trusted", "-host"),
    concat!("arti", "factory"),
    concat!("dev", "pi"),
];

/// The repository works on every machine: no absolute folder, no registry of someone's network.
fn machine(source: &Source) -> Vec<Finding> {
    per_line(source, |line| {
        for word in NETWORK_WORDS {
            if line.contains(word) {
                return Some(format!("`{word}` belongs into the machine's configuration"));
            }
        }
        let folder = line.match_indices('/').find_map(|(at, _)| {
            let starts = line[..at].chars().last().is_none_or(|c| " \t\"'`=(:".contains(c));
            let folder = line[at + 1..].split('/').next()?;
            let more = line[at + 1 + folder.len()..].starts_with('/');
            (starts && more && MACHINE_FOLDERS.contains(&folder)).then_some(folder)
        })?;
        Some(format!("absolute path `/{folder}/`: the repository knows no machine"))
    })
}

/// Lock files pin names, versions and hashes; where to fetch them is the machine's business. Cargo
/// writes the canonical name of the public index, which is not an address that it must reach.
fn lock_hosts(source: &Source) -> Vec<Finding> {
    if !source.name().ends_with(".lock") {
        return Vec::new();
    }
    per_line(source, |line| {
        let index = "registry+https://github.com/rust-lang/crates.io-index";
        line.replace(index, "").contains("://").then(|| "host name in a lock file".to_string())
    })
}

/// Rust files that no `mod` reaches are silently not compiled.
fn dead_files(sources: &[Source]) -> Vec<Finding> {
    let rust: Vec<&Source> = sources.iter().filter(|s| s.language == Language::Rust).collect();
    let mut found = Vec::new();
    for source in &rust {
        let Some((package, inner)) = source.path.split_once("/src/") else { continue };
        let stem = inner.strip_suffix("/mod.rs").unwrap_or(inner.trim_end_matches(".rs"));
        let stem = stem.rsplit('/').next().unwrap_or(stem);
        if ["lib", "main"].contains(&stem) || inner.starts_with("bin/") {
            continue;
        }
        let declared = rust.iter().any(|other| {
            let same = other.path.starts_with(package);
            same && other.code().lines().any(|line| {
                let line = line.trim_end();
                line.ends_with(&format!("mod {stem};")) || line.ends_with(&format!("mod {stem} {{"))
            })
        });
        if !declared {
            found.push(Finding::new(source, 0, true, format!("no `mod {stem};` reaches it")));
        }
    }
    found
}

fn per_line(source: &Source, rule: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    let lines = source.text.lines().enumerate();
    lines
        .filter_map(|(at, line)| rule(line).map(|text| Finding::new(source, at + 1, true, text)))
        .collect()
}
