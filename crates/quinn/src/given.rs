//! Controllers in quinn's interface that the program itself has: a test of somebody's crate names them, and flows of its
//! plans use them as quinn's own.

use crate::config::{Made, Own};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

static GIVEN: Mutex<BTreeMap<String, Made>> = Mutex::new(BTreeMap::new());

/// Flows whose controller is called `name` (it begins with `quinn:`) have what `made` makes, in every run of this
/// process from now on.
///
/// # Panics
/// When quinn itself has a controller of that name: plans that compare with it would have another.
pub fn give(name: &str, made: Made) {
    assert!(Own::find(name).is_none(), "{name} is quinn's own controller: wanted another name");
    GIVEN.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), made);
}

/// The one of this name.
pub(crate) fn find(name: &str) -> Option<Made> {
    GIVEN.lock().unwrap_or_else(PoisonError::into_inner).get(name).map(Arc::clone)
}

/// Names of all of them.
pub(crate) fn names() -> Vec<String> {
    GIVEN.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
}
