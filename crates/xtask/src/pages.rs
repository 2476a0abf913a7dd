//! What the maps of the repository name: files and folders that exist, and names that these files contain.

use std::path::Path;

/// The pages that lead a reader to files.
const MAPS: [&str; 3] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/README.md"];

/// Folders at the root; a path in backticks that begins with one of them is a path of the repository.
const FOLDERS: [&str; 9] =
    ["bench", "cca", "crates", "docs", "fuzz", "python", "scenarios", "tests", "tools"];

/// What is wrong with all maps.
///
/// # Panics
/// If a map is not there.
pub fn all_dead_names(root: &Path) -> Vec<String> {
    let read = |map| std::fs::read_to_string(root.join(map)).expect("the map is there");
    MAPS.iter().flat_map(|map| dead_names(root, map, &read(map))).collect()
}

/// What is wrong with one map: a line for each path that does not exist, and for each name in the last cell of
/// a table row that the file in the cell before does not contain.
pub fn dead_names(root: &Path, map: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let mut complain = |what: String| found.push(format!("{map}:{}: {what}", at + 1));
        for path in quoted(line).filter(|word| is_path(word)) {
            if !root.join(path).exists() {
                complain(format!("`{path}` does not exist"));
            }
        }
        let Some((path, names)) = file_and_names(line) else { continue };
        // A file that does not exist is in the list already.
        let Ok(code) = std::fs::read_to_string(root.join(path)) else { continue };
        for name in names.filter(|name| !has_word(&code, name)) {
            complain(format!("`{path}` has no `{name}`"));
        }
    }
    found
}

/// The texts between backticks.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Whether a text in backticks is a path of the repository, and no placeholder such as `cca/NAME.c`.
fn is_path(word: &str) -> bool {
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    let first = word.split('/').next().unwrap_or(word);
    plain && word.contains('/') && !word.contains("NAME") && FOLDERS.contains(&first)
}

/// Of a table row with three cells, whose second is one file: that file, and the names in the third.
fn file_and_names(line: &str) -> Option<(&str, impl Iterator<Item = &str>)> {
    let cells: Vec<&str> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').collect();
    let [_, file, names] = cells[..] else { return None };
    let file = file.trim().strip_prefix('`')?.strip_suffix('`')?;
    (is_path(file) && file.contains('.')).then(|| (file, quoted(names)))
}

/// Whether the code has the name as a word of its own.
fn has_word(code: &str, name: &str) -> bool {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}
