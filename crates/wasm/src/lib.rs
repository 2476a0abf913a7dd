//! The engine for WebAssembly. A call is a JSON text, and so is its answer; files go through WASI, to whatever the caller
//! lets it see. The caller is `web/src/playground/engine.ts`.
//!
//! Memory does not shrink and a panic ends the instance: the caller makes a new one for each run, which costs it a millisecond.

#![cfg(target_family = "wasm")]

use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use sim::RunError;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The caller hears of a run at this distance: rare enough to cost nothing, often enough to draw.
const TELL_EVERY: Duration = Duration::from_millis(50);

#[link(wasm_import_module = "dumbbell")]
extern "C" {
    /// The rows of a run since the last call.
    fn rows(text: *const u8, len: usize);
    /// How far a run is: simulated ns, packets delivered; 0 ends the run.
    fn progress(at_ns: u64, packets: u64) -> u32;
}

/// What may be asked for; `python/dumbbell/_native.pyi` describes the functions of these names.
#[derive(Deserialize)]
#[serde(tag = "call", rename_all = "snake_case", deny_unknown_fields)]
enum Asked {
    Told {},
    Check { plan: String },
    Run { plan: String, out: PathBuf, watches: bool },
    KernelName { name: String },
    Indented { json: String },
    PathCourse(Radio),
    RadioCourse(Radio),
    RadioTrace(Radio),
}

#[derive(Deserialize)]
struct Radio {
    kind: String,
    mobility: String,
    mean_bps: u64,
    length_ms: u64,
    seed: u64,
}

/// What comes of it; an error by the exception that it is in Python.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Given(Value),
    PlanError(String),
    ValueError(String),
    RuntimeError(String),
}

impl Answer {
    fn of<T: Into<Value>>(found: Result<T, String>) -> Answer {
        found.map_or_else(Answer::ValueError, |found| Answer::Given(found.into()))
    }
}

/// Room for a text of the caller, who gives it back with [`answer`].
#[no_mangle]
pub extern "C" fn room(len: usize) -> *mut u8 {
    Box::leak(vec![0_u8; len].into_boxed_slice()).as_mut_ptr()
}

/// Answers a text that lies in [`room`]: the place of the answer in the upper half, its length in the lower. It stays for
/// the caller.
///
/// # Safety
/// `text` and `len` are those of one call of [`room`], and nobody else uses them.
#[no_mangle]
pub unsafe extern "C" fn answer(text: *mut u8, len: usize) -> u64 {
    // SAFETY: as promised by the caller, this was a boxed slice of that length.
    let text = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(text, len)) };
    let found = match serde_json::from_slice(&text) {
        Ok(asked) => answered(asked),
        Err(error) => Answer::ValueError(error.to_string()),
    };
    let bytes = serde_json::to_vec(&found).expect("strings and numbers").into_boxed_slice();
    let len = bytes.len();
    (Box::leak(bytes).as_ptr() as u64) << 32 | len as u64
}

fn answered(asked: Asked) -> Answer {
    match asked {
        Asked::Told {} => Answer::Given(told()),
        Asked::Check { plan } => match path::plan::Plan::parse(&plan) {
            Ok(_) => Answer::Given(Value::Null),
            Err(error) => Answer::PlanError(error.to_string()),
        },
        Asked::Run { plan, out, watches } => run(&plan, &out, watches),
        Asked::KernelName { name } => Answer::Given(cca::kernel_name(&name).into()),
        Asked::Indented { json } => Answer::Given(engine::indented(&json).into()),
        Asked::PathCourse(Radio { kind, mobility, mean_bps, length_ms, seed }) => {
            let course = engine::path_course(&kind, &mobility, mean_bps, length_ms, seed);
            Answer::of(course.map(|course| json!(course)))
        }
        Asked::RadioCourse(Radio { kind, mobility, mean_bps, length_ms, seed }) => {
            let course = engine::radio_course(&kind, &mobility, mean_bps, length_ms, seed);
            Answer::of(course.map(|course| json!(course)))
        }
        Asked::RadioTrace(Radio { kind, mobility, mean_bps, length_ms, seed }) => {
            Answer::of(engine::radio_trace(&kind, &mobility, mean_bps, length_ms, seed))
        }
    }
}

/// What does not change while this is loaded.
fn told() -> Value {
    json!({
        "version": engine::version(),
        "digests": engine::digests(),
        "parts": engine::parts(),
        "controllers": engine::controllers(),
        "facts": engine::facts(),
        "agent": engine::agent(),
        "MANIFEST_VERSION": record::MANIFEST_VERSION,
        "SCHEMA_VERSION": record::SCHEMA_VERSION,
    })
}

fn run(plan: &str, out: &std::path::Path, watches: bool) -> Answer {
    let modules = cca::Modules::new();
    let watch = watches.then(record::Watch::default);
    let mut told_at = None;
    let mut on_progress =
        |at_ns, packets| is_to_go_on(&mut told_at, at_ns, packets, watch.as_ref());
    let done = sim::parse(plan, &modules)
        .map_err(RunError::Plan)
        .and_then(|plan| sim::run_watched(&plan, &modules, out, &mut on_progress, watch.clone()));
    match done {
        Ok(summary) => {
            tell_rows(watch.as_ref());
            Answer::Given(serde_json::to_string(&summary).expect("strings and numbers").into())
        }
        Err(RunError::Plan(error)) => Answer::PlanError(error.to_string()),
        Err(error) => Answer::RuntimeError(error.to_string()),
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "the machine's clock says when to tell; the run itself never sees it"
)]
fn is_to_go_on(
    told_at: &mut Option<Instant>,
    at_ns: u64,
    packets: u64,
    watch: Option<&record::Watch>,
) -> bool {
    if told_at.is_some_and(|at| at.elapsed() < TELL_EVERY) {
        return true;
    }
    *told_at = Some(Instant::now());
    tell_rows(watch);
    // SAFETY: numbers.
    unsafe { progress(at_ns, packets) != 0 }
}

fn tell_rows(watch: Option<&record::Watch>) {
    if let Some(text) = watch.and_then(engine::rows) {
        // SAFETY: the text outlives the call.
        unsafe { rows(text.as_ptr(), text.len()) };
    }
}
