//! The types of a plan in Python, written from the structs that the engine parses it into (`crates/path/src/plan`).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use syn::{Attribute, Field, GenericArgument, Item, PathArguments, Type};

/// Where the generated file is.
pub const TARGET: &str = "python/dumbbell/plan/types.py";
const SOURCES: [&str; 2] = ["crates/path/src/plan", "crates/net/src/host.rs"];
/// Characters of a line of a docstring.
const WIDTH: usize = 112;
const HEAD: &str = "\"\"\"The plan of a run: plain dictionaries at run time, as JSON has them; their keys and types for checkers. Written by
`make gen` from the structs that the engine parses it into (crates/path/src/plan), not by hand.

Everything is absolute: times in ns from the start of the run, rates in bit/s, sizes in bytes on the wire, shares in
parts per billion (ppb). `None` is the absence of a thing.
\"\"\"

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

Stage = dict[str, Any]
\"\"\"One part of a route: its kind, and that kind's parameters.\"\"\"
Settings = dict[str, Any]
\"\"\"A kind (of queue discipline, transport, application, distribution) and that kind's parameters.\"\"\"
";

type Items = BTreeMap<String, Item>;

/// The whole file.
///
/// # Errors
/// When a source cannot be read or parsed, or a field has a type that has no name in Python.
pub fn types(root: &Path) -> Result<String, String> {
    let items = items(root)?;
    let mut order = vec!["Plan".to_owned()];
    let mut at = 0;
    while at < order.len() {
        for field in fields(&items, &order[at]) {
            let name = innermost(&field.ty);
            if matches!(items.get(&name), Some(Item::Struct(_))) && !order.contains(&name) {
                order.push(name);
            }
        }
        at += 1;
    }
    let classes: Result<Vec<String>, String> =
        order.iter().rev().map(|name| class(&items, name)).collect();
    Ok(format!("{HEAD}{}", classes?.concat()))
}

/// Structs and enums of the sources, by name.
fn items(root: &Path) -> Result<Items, String> {
    let mut items = Items::new();
    for source in SOURCES {
        let path = root.join(source);
        let files = match fs::read_dir(&path) {
            Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
            Err(_) => vec![path],
        };
        for file in files {
            let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
            let parsed = syn::parse_file(&text).map_err(|e| format!("{}: {e}", file.display()))?;
            for item in parsed.items {
                let name = match &item {
                    Item::Struct(one) => one.ident.to_string(),
                    Item::Enum(one) => one.ident.to_string(),
                    _ => continue,
                };
                items.insert(name, item);
            }
        }
    }
    Ok(items)
}

fn fields<'a>(items: &'a Items, name: &str) -> Vec<&'a Field> {
    match items.get(name) {
        Some(Item::Struct(one)) => one.fields.iter().collect(),
        _ => Vec::new(),
    }
}

/// The class of a struct.
fn class(items: &Items, name: &str) -> Result<String, String> {
    let Some(Item::Struct(item)) = items.get(name) else {
        return Err(format!("there is no struct {name}"));
    };
    let mut text = format!("\n\nclass {}(TypedDict):\n{}\n", python(name), doc(&item.attrs));
    for field in &item.fields {
        let key = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
        let at = || format!("{name}.{key}");
        let kind =
            hint(items, &field.ty).ok_or_else(|| format!("{}: its type is unknown", at()))?;
        let kind = match is_left_out(&field.attrs) {
            true => format!("NotRequired[{}]", kind.trim_end_matches(" | None")),
            false => kind,
        };
        text += &format!("    {key}: {kind}\n{}", doc(&field.attrs));
    }
    Ok(text)
}

fn python(name: &str) -> String {
    match name {
        "Plan" => name.to_owned(),
        "Window" => "MeasurePlan".to_owned(),
        _ => format!("{name}Plan"),
    }
}

/// The type in Python; None where there is none.
fn hint(items: &Items, kind: &Type) -> Option<String> {
    if let Type::Tuple(tuple) = kind {
        let parts: Option<Vec<_>> = tuple.elems.iter().map(|part| hint(items, part)).collect();
        return Some(format!("tuple[{}]", parts?.join(", ")));
    }
    let Type::Path(path) = kind else { return None };
    let last = path.path.segments.last()?;
    let inner: Option<Vec<String>> = match &last.arguments {
        PathArguments::AngleBracketed(given) => given
            .args
            .iter()
            .map(|one| if let GenericArgument::Type(one) = one { hint(items, one) } else { None })
            .collect(),
        _ => Some(Vec::new()),
    };
    let inner = inner?;
    let name = last.ident.to_string();
    Some(match name.as_str() {
        "u8" | "u16" | "u32" | "u64" | "i64" => "int".into(),
        "bool" => "bool".into(),
        "String" => "str".into(),
        "Vec" => format!("list[{}]", inner[0]),
        "Option" => format!("{} | None", inner[0]),
        "BTreeMap" => format!("dict[{}]", inner.join(", ")),
        "Config" => "Settings".into(),
        "Stage" => "Stage".into(),
        _ => match items.get(&name)? {
            Item::Struct(_) => python(&name),
            Item::Enum(one) if words(&one.attrs).contains("tag =") => "Settings".into(),
            _ => "str".into(),
        },
    })
}

/// The name of the type within options, lists and tables.
fn innermost(kind: &Type) -> String {
    let Type::Path(path) = kind else { return String::new() };
    let Some(last) = path.path.segments.last() else { return String::new() };
    if let PathArguments::AngleBracketed(given) = &last.arguments {
        if let Some(GenericArgument::Type(inner)) = given.args.last() {
            return innermost(inner);
        }
    }
    last.ident.to_string()
}

/// What stands in the attributes for serde.
fn words(attributes: &[Attribute]) -> String {
    let of_serde = attributes.iter().filter(|one| one.path().is_ident("serde"));
    let tokens = of_serde.filter_map(|one| one.meta.require_list().ok());
    tokens.map(|list| list.tokens.to_string()).collect::<Vec<_>>().join(", ")
}

/// Whether a plan may be without the key: where it has the default, the engine writes none either.
fn is_left_out(attributes: &[Attribute]) -> bool {
    words(attributes).contains("skip_serializing_if")
}

/// The comment as a docstring.
fn doc(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|one| {
        let value =
            &one.meta.require_name_value().ok().filter(|_| one.path().is_ident("doc"))?.value;
        let syn::Expr::Lit(literal) = value else { return None };
        let syn::Lit::Str(text) = &literal.lit else { return None };
        Some(text.value())
    });
    let text = lines
        .collect::<Vec<_>>()
        .join(" ")
        .replace("[`", "`")
        .replace("`]", "`")
        .replace("`super::", "`");
    let mut wrapped = vec![String::new()];
    for word in text.replace("`null`", "None").split_whitespace() {
        let line = wrapped.last().map_or(0, String::len);
        if line > 0 && line + 1 + word.len() > WIDTH {
            wrapped.push(String::new());
        }
        if let Some(last) = wrapped.last_mut() {
            let gap = if last.is_empty() { "" } else { " " };
            *last += &format!("{gap}{word}");
        }
    }
    match wrapped.as_slice() {
        [one] => format!("    \"\"\"{one}\"\"\"\n"),
        many => format!("    \"\"\"{}\n    \"\"\"\n", many.join("\n    ")),
    }
}
