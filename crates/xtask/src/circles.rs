//! Circles of files that include or import each other: C headers, Python modules, Rust modules of a crate.
//!
//! Counted is what a file needs when it is compiled or imported: not what Python imports inside functions or for type
//! checkers only, and not what unit tests use.

use crate::source::{Language, Source};
use std::collections::{BTreeMap, BTreeSet};

/// Circles of Rust modules that belong together: the files of one folder that may use each other.
const TOGETHER: [&[&str]; 5] = [
    // A loaded controller, and the pins that keep it.
    &["crates/bpf/src/load.rs", "crates/bpf/src/pins.rs"],
    // A module, and the shared object that it may come from.
    &["crates/cca/src/library.rs", "crates/cca/src/module.rs"],
    // A run in real time and the threads that share its state.
    &[
        "crates/emu/src/flows.rs",
        "crates/emu/src/report.rs",
        "crates/emu/src/router.rs",
        "crates/emu/src/run.rs",
        "crates/emu/src/sampler.rs",
        "crates/emu/src/traffic.rs",
    ],
    // A tin and the hash that finds its flows.
    &["crates/net/src/qdisc/cake/hash.rs", "crates/net/src/qdisc/cake/tin.rs"],
    // A table, its columns and its schema.
    &["crates/record/src/column.rs", "crates/record/src/schema.rs", "crates/record/src/table.rs"],
];

/// What each file needs, by path.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// Circles that are not known to belong together, each as its files in order.
pub fn circles(sources: &[Source]) -> Vec<Vec<String>> {
    let graph = graph(sources);
    let mut found: BTreeSet<Vec<String>> = BTreeSet::new();
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        graph.keys().map(|file| (file, reach(&graph, file))).collect();
    for (file, others) in &reached {
        if others.contains(file) {
            let circle = others.iter().filter(|other| reached[**other].contains(file));
            found.insert(circle.map(|other| (*other).clone()).collect());
        }
    }
    let is_known = |circle: &Vec<String>| {
        TOGETHER.iter().any(|known| circle.iter().all(|file| known.contains(&file.as_str())))
    };
    found.into_iter().filter(|circle| !is_known(circle)).collect()
}

/// All files that `from` needs, directly or through others.
fn reach<'a>(graph: &'a Graph, from: &str) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&String> = graph[from].iter().collect();
    while let Some(file) = open.pop() {
        if found.insert(file) {
            open.extend(&graph[file]);
        }
    }
    found
}

fn graph(sources: &[Source]) -> Graph {
    let paths: BTreeSet<&str> = sources.iter().map(|source| source.path.as_str()).collect();
    let needs = |source: &Source| -> BTreeSet<String> {
        let named = match source.language {
            Language::C => included(source),
            Language::Python => imported(source),
            Language::Rust => used(source),
            Language::Shell | Language::Other => Vec::new(),
        };
        let existing =
            |names: Vec<String>| names.into_iter().find(|name| paths.contains(name.as_str()));
        let others = named.into_iter().filter_map(existing);
        others.filter(|other| *other != source.path).collect()
    };
    sources.iter().map(|source| (source.path.clone(), needs(source))).collect()
}

/// Of each `#include "..."` the files that it may mean.
fn included(source: &Source) -> Vec<Vec<String>> {
    let named = |line: &str| {
        let name = line.trim().strip_prefix("#include \"")?.split('"').next()?;
        let folder = folder(&source.path);
        Some(vec![normal(&format!("{folder}/{name}")), format!("cca/include/{name}")])
    };
    source.text.lines().filter_map(named).collect()
}

/// Of each import at the start of a line the modules that it may mean.
fn imported(source: &Source) -> Vec<Vec<String>> {
    let joined = source.text.replace("(\n", "(").replace(",\n", ",");
    let mut found = Vec::new();
    for line in joined.lines() {
        let Some((from, names)) = line.strip_prefix("from ").and_then(|l| l.split_once(" import "))
        else {
            continue;
        };
        let dots = from.len() - from.trim_start_matches('.').len();
        let base = match dots {
            0 => "python".to_string(),
            _ => (1..dots).fold(folder(&source.path).to_string(), |at, _| folder(&at).to_string()),
        };
        let rest = from.trim_start_matches('.').replace('.', "/");
        let module = if rest.is_empty() { base } else { format!("{base}/{rest}") };
        for name in names.split(['(', ')', ',']).map(str::trim).filter(|name| !name.is_empty()) {
            let name = name.split(' ').next().unwrap_or(name);
            let files = [format!("{module}/{name}"), module.clone()];
            let both = |file: &String| [format!("{file}.py"), format!("{file}/__init__.py")];
            found.push(files.iter().flat_map(both).collect());
        }
    }
    found
}

/// Of each path that begins with `crate` or `super` the files that it may mean, the most exact first.
fn used(source: &Source) -> Vec<Vec<String>> {
    let Some((package, inner)) = source.path.split_once("/src/") else { return Vec::new() };
    let own = inner.trim_end_matches(".rs").trim_end_matches("/mod");
    let own: Vec<&str> = own.split('/').filter(|part| !["lib", "main"].contains(part)).collect();
    let code = source.code();
    let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or(&code);
    let mut found = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let is_inside =
                code[..at].ends_with(|c: char| c.is_alphanumeric() || ":_$".contains(c));
            if is_inside {
                continue;
            }
            for path in expanded(&code[at..]) {
                found.push(files_of(package, &own, &path));
            }
        }
    }
    found
}

/// The paths of one that starts here: `a::{b, c::d}` are `a::b` and `a::c::d`.
fn expanded(code: &str) -> Vec<String> {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let end = code.find(|c| !is_path(c)).unwrap_or(code.len());
    let (prefix, rest) = code.split_at(end);
    let Some(inside) = rest.strip_prefix('{').filter(|_| prefix.ends_with("::")) else {
        return vec![prefix.to_string()];
    };
    let (mut depth, mut found, mut item) = (1, Vec::new(), String::new());
    for c in inside.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if depth == 0 || (depth == 1 && c == ',') {
            found.push(std::mem::take(&mut item));
        } else {
            item.push(c);
        }
        if depth == 0 {
            break;
        }
    }
    let whole = |item: &String| expanded(&format!("{prefix}{}", item.trim()));
    found.iter().flat_map(whole).collect()
}

fn files_of(package: &str, own: &[&str], path: &str) -> Vec<String> {
    let mut parts: Vec<&str> = path.split("::").filter(|part| !part.is_empty()).collect();
    let mut module: Vec<&str> = Vec::new();
    if parts[0] == "crate" {
        parts.remove(0);
    } else {
        module.extend(own);
        while parts.first() == Some(&"super") {
            module.pop();
            parts.remove(0);
        }
    }
    module.extend(parts);
    let mut found = Vec::new();
    while let Some(last) = module.last() {
        if !last.is_empty() {
            let at = module.join("/");
            found.push(format!("{package}/src/{at}.rs"));
            found.push(format!("{package}/src/{at}/mod.rs"));
        }
        module.pop();
    }
    found.push(format!("{package}/src/lib.rs"));
    found
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A path without `..`.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}
