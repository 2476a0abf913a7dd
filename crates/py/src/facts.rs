//! What a controller's head comment says for programs to read: the lines after `Facts:` at its end, a word, a tab, a value.

use pyo3::pyfunction;
use std::collections::BTreeMap;

const HEAD: &str = "\n\nFacts:\n";

/// The facts in a head comment, by their words.
fn of(doc: &str) -> BTreeMap<&str, &str> {
    let lines = doc.split_once(HEAD).map_or("", |(_, facts)| facts).lines();
    lines.filter_map(|line| line.trim().split_once('\t')).collect()
}

/// A head comment without them.
pub fn without(doc: &str) -> &str {
    doc.split_once(HEAD).map_or(doc, |(text, _)| text)
}

/// The facts of each controller by its name; see the stub.
#[pyfunction]
pub fn facts() -> BTreeMap<&'static str, BTreeMap<&'static str, &'static str>> {
    let of_each = cca::Module::all().iter().map(|module| {
        let mut facts = of(module.doc());
        if module.needs_ecn() || module.needs_l4s() {
            facts.insert("needs", "marks");
        }
        (module.name(), facts)
    });
    of_each.collect()
}
