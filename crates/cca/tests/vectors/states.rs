//! Named states of `cca/vectors/states/<controller>.toml`, from which a vector can start.
//!
//! A state has what a vector has, `seed`, `params`, `init` and `step`s, and may itself start `from` another. A vector
//! with `from = "cruise"` is run after the steps of that state, which check that it is reached; its own `seed`,
//! `params` and `init` go before the state's.

use std::fs;
use std::path::Path;

use toml::{Table, Value};

/// Longer chains are circles.
const STATES_MAX: usize = 16;

/// The vector with the steps of its `from` instead of `from`.
pub fn expand(cca: &str, vector: Table) -> Result<Table, String> {
    if !vector.contains_key("from") {
        return Ok(vector);
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../cca/vectors/states")
        .join(cca)
        .with_extension("toml");
    let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let states: Table = text.parse().map_err(|e| format!("{}: not TOML: {e}", file.display()))?;
    follow(&states, vector)
}

fn follow(states: &Table, mut vector: Table) -> Result<Table, String> {
    for _ in 0..STATES_MAX {
        let Some(from) = vector.remove("from") else { return Ok(vector) };
        let state = from.as_str().and_then(|name| states.get(name)).and_then(Value::as_table);
        let state = state.ok_or_else(|| {
            let known: Vec<&str> = states.keys().map(String::as_str).collect();
            format!("`from = {from}` is no state, wanted one of {}", known.join(", "))
        })?;
        for (key, before) in state {
            let value = match vector.remove(key) {
                None => before.clone(),
                Some(own) => join(before, own),
            };
            vector.insert(key.clone(), value);
        }
    }
    Err("`from` goes round in a circle".into())
}

/// Steps one after the other, keys of both tables, else the vector's own value.
fn join(before: &Value, own: Value) -> Value {
    match (before, own) {
        (Value::Array(before), Value::Array(own)) => [before.clone(), own].concat().into(),
        (Value::Table(before), Value::Table(own)) => {
            let mut both = before.clone();
            both.extend(own);
            both.into()
        }
        (_, own) => own,
    }
}

#[test]
fn a_vector_comes_after_the_states_that_it_starts_from() {
    let states = "[drain]\nseed = 3\nparams = { a = 1, b = 1 }\nstep = [1]\n[down]\nfrom = \"drain\"\nstep = [2]";
    let vector = "from = \"down\"\nparams = { b = 2 }\nstep = [3]";
    let expanded = follow(&states.parse().unwrap(), vector.parse().unwrap()).unwrap();
    let wanted: Table = "seed = 3\nparams = { a = 1, b = 2 }\nstep = [1, 2, 3]".parse().unwrap();
    assert_eq!(expanded, wanted);
}

#[test]
fn an_unknown_state_is_refused_and_so_is_a_circle() {
    let states: Table = "[up]\nfrom = \"up\"".parse().unwrap();
    let unknown = follow(&states, "from = \"down\"".parse().unwrap()).unwrap_err();
    assert_eq!(unknown, "`from = \"down\"` is no state, wanted one of up");
    let circle = follow(&states, "from = \"up\"".parse().unwrap()).unwrap_err();
    assert_eq!(circle, "`from` goes round in a circle");
}
