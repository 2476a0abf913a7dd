//! What there is to know about controllers, and what their head comments say for programs to read: the lines after `Facts:` at
//! the end, a word, a tab, a value.

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

/// The facts of each controller by its name.
#[must_use]
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

/// What there is to know about a controller.
#[must_use]
pub fn described(m: &cca::Module) -> serde_json::Value {
    let params: Vec<_> = m
        .params()
        .iter()
        .map(|p| {
            serde_json::json!({"name": p.name, "default": p.default, "min": p.min, "max": p.max,
                "unit": p.unit, "doc": p.doc})
        })
        .collect();
    let presets: Vec<_> = m
        .presets()
        .iter()
        .map(|p| {
            // Pairs, since an object would lose their order.
            serde_json::json!({"name": p.name, "doc": p.doc, "values": p.values})
        })
        .collect();
    let variables: Vec<_> = m
        .variables()
        .iter()
        .map(
            |v| serde_json::json!({"name": v.name, "unit": v.unit, "words": v.words, "doc": v.doc}),
        )
        .collect();
    serde_json::json!({"name": m.name(), "variables": variables, "doc": without(m.doc()), "summary": m.summary(),
        "license": m.license(), "params": params, "presets": presets, "states": m.states(),
        "priv_bytes": m.priv_bytes(), "needs_marks": m.needs_ecn() || m.needs_l4s()})
}

/// What there is to know about each controller, as a JSON list.
#[must_use]
pub fn controllers() -> String {
    let list: Vec<_> = cca::Module::all().iter().map(described).collect();
    serde_json::Value::from(list).to_string()
}

/// What there is to know about the controller of flows that ask, as JSON.
#[must_use]
pub fn agent() -> String {
    described(cca::Module::agent()).to_string()
}
