//! The types of a plan in Python, written from the structs that the engine parses it into (`crates/path/src/plan`).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use syn::{Attribute, Field, GenericArgument, Item, PathArguments, Type};

/// A generated file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Dictionaries, for who makes plans.
    Types,
    /// Frozen structs, for who reads them.
    Fields,
}

impl Form {
    /// Both.
    pub const ALL: [Form; 2] = [Form::Types, Form::Fields];

    /// Where the file is.
    pub const fn target(self) -> &'static str {
        match self {
            Form::Types => "python/dumbbell/plan/types.py",
            Form::Fields => "python/dumbbell/plan/fields.py",
        }
    }
}

const SOURCES: [&str; 3] =
    ["crates/path/src/plan", "crates/net/src/host.rs", "crates/net/src/frame.rs"];
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

const FIELDS_HEAD: &str = "\"\"\"The plan of a run as its readers get it, frozen; what the fields mean is in `types.py`. Written by `make gen` from
the structs that the engine parses it into (crates/path/src/plan), not by hand. `view.py` adds what follows from them.

A field that a plan is without has the engine's default; `Any` is a kind with its own parameters.
\"\"\"

from __future__ import annotations

from typing import Any

from msgspec import field

from .base import Count, View
";

type Items = BTreeMap<String, Item>;

/// The whole file.
///
/// # Errors
/// When a source cannot be read or parsed, or a field has a type that has no name in Python.
pub fn file(root: &Path, form: Form) -> Result<String, String> {
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
    let order = order.iter().rev();
    let (head, classes): (_, Result<Vec<String>, String>) = match form {
        Form::Types => (HEAD, order.map(|name| class(&items, name)).collect()),
        Form::Fields => {
            let whole = order.filter(|name| !is_sparse(&items, name));
            (FIELDS_HEAD, whole.map(|name| fields_class(&items, name)).collect())
        }
    };
    Ok(format!("{head}{}", classes?.concat()))
}

/// Structs, enums, functions and constants of the sources, by name.
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
                    Item::Fn(one) => one.sig.ident.to_string(),
                    Item::Const(one) => one.ident.to_string(),
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

/// The frozen class of a struct.
fn fields_class(items: &Items, name: &str) -> Result<String, String> {
    let Some(Item::Struct(item)) = items.get(name) else {
        return Err(format!("there is no struct {name}"));
    };
    let head = format!("\n\nclass {name}(View, frozen=True, kw_only=True):\n");
    let mut text = format!("{head}{}\n", doc(&item.attrs));
    for field in &item.fields {
        let key = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
        let at = |what: &str| format!("{name}.{key}: its {what} is unknown");
        let kind = frozen(items, &field.ty).ok_or_else(|| at("type"))?;
        let given = default(items, field, &kind).map_err(|()| at("default"))?;
        let nullable = given.as_deref() == Some("None") && kind != "Any" && !kind.ends_with("None");
        let or_none = if nullable { " | None" } else { "" };
        let given = given.map(|value| format!(" = {value}")).unwrap_or_default();
        text += &format!("    {key}: {kind}{or_none}{given}\n");
    }
    Ok(text)
}

/// Whether each field of a struct is left out where it does not differ from another struct's.
fn is_sparse(items: &Items, name: &str) -> bool {
    fields(items, name).iter().all(|field| is_left_out(&field.attrs))
}

/// The type of a frozen field.
fn frozen(items: &Items, kind: &Type) -> Option<String> {
    let name = innermost(kind);
    if matches!(items.get(&name), Some(Item::Struct(_))) && is_sparse(items, &name) {
        return Some("dict[str, bool | int | str]".into());
    }
    let text = hint(items, kind)?
        .replace("int", "Count")
        .replace("dict[str, Count]", "dict[str, int]")
        .replace("Settings | None", "Any")
        .replace("Settings", "Any")
        .replace("list[Stage]", "tuple[Any, ...]")
        .replace("MeasurePlan", "Window")
        .replace("Plan", "");
    Some(match text.strip_prefix("list[").and_then(|rest| rest.strip_suffix(']')) {
        Some(inner) => format!("tuple[{inner}, ...]"),
        None => text,
    })
}

/// The default of a frozen field, if it has one; an error where that cannot be told.
fn default(items: &Items, field: &Field, kind: &str) -> Result<Option<String>, ()> {
    let said = words(&field.attrs);
    if let Some((_, rest)) = said.split_once("default = \"") {
        let function = rest.split('"').next().unwrap_or_default();
        return literal(items, function).map(Some).ok_or(());
    }
    if kind.ends_with("None")
        || (kind == "Any" && hint(items, &field.ty).is_some_and(|of| of.ends_with("None")))
    {
        return Ok(Some("None".into()));
    }
    if !said.contains("default") {
        return Ok(None);
    }
    let name = innermost(&field.ty);
    Ok(Some(match kind {
        "bool" => "False".into(),
        "str" => match items.get(&name) {
            Some(Item::Enum(of)) => format!("\"{}\"", first(of).ok_or(())?),
            _ => "\"\"".into(),
        },
        "Count" => "0".into(),
        _ if kind.starts_with("tuple") => "()".into(),
        _ if kind.starts_with("dict") => "field(default_factory=dict)".into(),
        _ => "None".into(),
    }))
}

/// The default variant of an enum of words.
fn first(of: &syn::ItemEnum) -> Option<String> {
    let is_default = |one: &&syn::Variant| one.attrs.iter().any(|of| of.path().is_ident("default"));
    of.variants.iter().find(is_default).map(|one| one.ident.to_string().to_lowercase())
}

/// What a function without arguments returns, or the value of a constant, as Python writes it.
fn literal(items: &Items, name: &str) -> Option<String> {
    let value = match items.get(name)? {
        Item::Fn(one) => match one.block.stmts.as_slice() {
            [syn::Stmt::Expr(value, None)] => value,
            _ => return None,
        },
        Item::Const(one) => &*one.expr,
        _ => return None,
    };
    match value {
        syn::Expr::Path(of) => literal(items, &of.path.segments.last()?.ident.to_string()),
        syn::Expr::Lit(of) => match &of.lit {
            syn::Lit::Bool(truth) => Some(if truth.value { "True" } else { "False" }.into()),
            syn::Lit::Int(number) => Some(number.base10_digits().into()),
            _ => None,
        },
        _ => None,
    }
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
