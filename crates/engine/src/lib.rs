//! What the engine tells and takes, as JSON and plain numbers, for whoever calls it from another language: `dumbbell._native`
//! (crates/py) and the one for browsers (crates/wasm).

mod facts;
mod parts;
mod radio;
mod rows;
mod text;

pub use facts::{agent, controllers, described, facts};
pub use parts::parts;
pub use radio::{path_course, radio_course, radio_trace};
pub use rows::rows;
pub use text::indented;

use std::collections::BTreeMap;

include!(concat!(env!("OUT_DIR"), "/digests.rs"));

/// Digests of the sources of the engine and of each controller.
#[must_use]
pub fn digests() -> BTreeMap<&'static str, &'static str> {
    DIGESTS.iter().copied().collect()
}

/// Version of the engine.
#[must_use]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// What to say of a panic in the engine.
#[must_use]
pub fn bug(text: &str) -> String {
    format!("the engine failed, which is a bug: please report it with the scenario ({text})")
}
