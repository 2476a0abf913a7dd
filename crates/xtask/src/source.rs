//! The files of the repository, read once, and their code without comments and text.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What a file is written in, as far as the rules differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Rust,
    C,
    Python,
    Shell,
    /// Anything else that is text.
    Other,
}

/// One file of the repository.
pub struct Source {
    /// Relative to the root, with slashes.
    pub path: String,
    pub language: Language,
    pub text: String,
}

/// The folder of the repository.
pub fn root() -> PathBuf {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_dir.ancestors().nth(2).expect("the crate is in crates/xtask").to_path_buf()
}

/// Every text file that is tracked, or that would be with `git add`.
///
/// # Panics
/// If git is not there or `root` is not a work tree.
pub fn tracked(root: &Path) -> Vec<Source> {
    let args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").args(args).current_dir(root).output();
    let output = output.expect("git lists the files to judge");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).expect("file names are UTF-8");
    let mut names: Vec<&str> = names.split('\0').filter(|name| !name.is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    // A file deleted but not committed is listed and cannot be read; neither can a picture.
    let read = |name: &&str| {
        let text = std::fs::read_to_string(root.join(name)).ok()?;
        Some(Source::new(name, text))
    };
    names.iter().filter_map(read).collect()
}

impl Source {
    pub fn new(path: &str, text: String) -> Source {
        Source { path: path.to_string(), language: Language::of(path, &text), text }
    }

    /// The code with every comment and text literal blanked out, line for line. Python's and the
    /// shell's lines stay as they are.
    pub fn code(&self) -> String {
        match self.language {
            Language::Rust | Language::C => blanked(&self.text, self.language == Language::Rust),
            _ => self.text.clone(),
        }
    }

    /// File name without folders.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

impl Language {
    fn of(path: &str, text: &str) -> Language {
        match path.rsplit('.').next() {
            Some("rs") => Language::Rust,
            Some("c" | "h") => Language::C,
            Some("py" | "pyi") => Language::Python,
            Some("sh") => Language::Shell,
            _ if text.starts_with("#!") && text.lines().next().unwrap_or("").contains("python") => {
                Language::Python
            }
            _ if text.starts_with("#!") => Language::Shell,
            _ => Language::Other,
        }
    }
}

/// Replaces comments and literals by spaces and keeps the line ends.
fn blanked(text: &str, rust: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let len = opaque_len(rest, rust, out.chars().last());
        if len == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        out.extend(rest[..len].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = &rest[len..];
    }
    out
}

/// Length of the comment or literal that `rest` starts with; 0 when it starts with code.
fn opaque_len(rest: &str, rust: bool, before: Option<char>) -> usize {
    let up_to = |from: usize, end: &str| {
        rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len())
    };
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return up_to(2, "*/");
    }
    if rest.starts_with('"') {
        return quoted_len(rest, '"');
    }
    if rust && !in_word && (rest.starts_with("r\"") || rest.starts_with("r#")) {
        let hashes = rest[1..].bytes().take_while(|&b| b == b'#').count();
        let opens = rest[1 + hashes..].starts_with('"');
        return if opens { up_to(hashes + 2, &format!("\"{}", "#".repeat(hashes))) } else { 0 };
    }
    if rest.starts_with('\'') && (!rust || is_char_literal(rest)) {
        return quoted_len(rest, '\'');
    }
    0
}

/// `'x'` or `'\n'`, and not a lifetime.
fn is_char_literal(rest: &str) -> bool {
    let mut chars = rest.chars().skip(1);
    match chars.next() {
        Some('\\') => true,
        Some(_) => chars.next() == Some('\''),
        None => false,
    }
}

/// Length of a literal that may escape its own `quote`.
fn quoted_len(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}
