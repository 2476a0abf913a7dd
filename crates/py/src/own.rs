//! A user's own controllers: C sources compiled and described, Python classes called for every ACK.
//!
//! A run holds no GIL; a Python controller takes it for the time of a call, so that runs in other
//! threads go on. The first exception is kept, later calls do nothing, and the run ends with it.

use cca::{Custom, CustomMaker, Modules, RateSample, TcpSock};
use pyo3::create_exception;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use crate::apart::{apart, Ended};
use crate::interruptible::interruptible;
use crate::sample::Sample;

create_exception!(
    _native,
    BuildError,
    PyValueError,
    "A controller of one's own that does not compile or load: (text, headers that the simulator lacks, other names that \
     it lacks)."
);

/// Compiles a controller and says what it is; see the stub for the contract.
#[pyfunction]
pub fn build(py: Python<'_>, source: PathBuf, folder: PathBuf, hz: u32) -> PyResult<String> {
    let built = interruptible(py, |goes_on| cca::compile_while(&source, &folder, hz, goes_on))?;
    let built = built.map_err(|error| {
        let cca::Lacking { headers, names } = error.lacking.clone();
        BuildError::new_err((error.to_string(), headers, names))
    })?;
    let mut let_signals_in = |py: Python<'_>, _, _| py.check_signals();
    let libraries = [built.library.clone()];
    let ended = apart(py, &libraries, &mut let_signals_in, |_, _| {
        match describe(&built) {
            Ok(text) => format!("+{text}"),
            Err(text) => format!("-{text}"),
        }
        .into_bytes()
    })?;
    let text = match ended {
        Ended::Well(text) => String::from_utf8_lossy(&text).into_owned(),
        Ended::Badly(said) => format!("-{said}"),
    };
    match text.strip_prefix('+') {
        Some(text) => Ok(text.to_owned()),
        None => {
            let text = format!("{}: {}", source.display(), &text[1..]);
            Err(BuildError::new_err((text, Vec::<String>::new(), Vec::<String>::new())))
        }
    }
}

/// Opens what was built, which runs its `module_init()`, and says what it is.
fn describe(built: &cca::Built) -> Result<String, String> {
    let module = built.open().map_err(|e| e.to_string())?;
    let mut described = engine::described(&module);
    described["library"] = built.library.display().to_string().into();
    described["symbol"] = built.symbol.clone().into();
    described["compiler"] = built.compiler.clone().into();
    let names = |paths: &[PathBuf]| -> Vec<String> {
        paths.iter().map(|path| path.display().to_string()).collect()
    };
    described["companions"] = names(&built.companions).into();
    described["headers"] = names(&built.headers).into();
    Ok(described.to_string())
}

/// Writes the headers that such a source includes; see the stub.
#[pyfunction]
pub fn write_headers(folder: PathBuf) -> PyResult<()> {
    Ok(cca::write_headers(&folder)?)
}

/// Writes what kernel modules are compiled from; see the stub.
#[pyfunction]
pub fn write_sources(folder: PathBuf) -> PyResult<()> {
    Ok(cca::write_sources(&folder)?)
}

/// Is this the text of a BPF program? See the stub.
#[pyfunction]
pub fn is_bpf_program(text: &str) -> bool {
    cca::is_program(text)
}

/// What a kernel calls a controller; see the stub.
#[pyfunction]
pub fn kernel_name(name: &str) -> String {
    cca::kernel_name(name)
}

/// The exception that ended a run, if one did.
pub type Raised = Arc<Mutex<Option<PyErr>>>;

/// The shared objects among the controllers of one run.
pub fn libraries(own: Option<&Bound<'_, PyDict>>) -> Vec<PathBuf> {
    let own = own.into_iter().flat_map(|own| own.iter());
    let library = |what: Bound<'_, PyAny>| what.extract::<(PathBuf, Option<String>)>().ok();
    own.filter_map(|(_, what)| library(what)).map(|(path, _)| path).collect()
}

/// The controllers of one run: `own` maps names to (library, symbol) or to a callable that makes one. Modules draw random
/// numbers from `seed` while they start.
pub fn modules(own: Option<&Bound<'_, PyDict>>, raised: &Raised, seed: u64) -> PyResult<Modules> {
    let mut modules = Modules::seeded(seed);
    for (name, what) in own.into_iter().flat_map(|own| own.iter()) {
        let name: String = name.extract()?;
        if let Ok((library, symbol)) = what.extract::<(PathBuf, Option<String>)>() {
            modules.add_library(&name, library, symbol);
        } else if what.is_callable() {
            modules.add_custom(&name, maker(what.unbind(), raised));
        } else {
            let text = format!("{name}: wanted (library, symbol) or a callable");
            return Err(PyTypeError::new_err(text));
        }
    }
    Ok(modules)
}

/// Makes an instance of the user's class for each flow, with its parameters as keywords.
fn maker(class: Py<PyAny>, raised: &Raised) -> CustomMaker {
    let raised = Arc::clone(raised);
    Box::new(move |params: &BTreeMap<String, i64>| {
        Python::attach(|py| {
            let made = make(py, &class, params).map(|hooks| PyController {
                hooks,
                raised: Arc::clone(&raised),
                failed: false,
            });
            made.map(|one| Box::new(one) as Box<dyn Custom>).map_err(|error| {
                let text = error.to_string();
                keep(&raised, error);
                text
            })
        })
    })
}

fn keep(raised: &Raised, error: PyErr) {
    let mut slot = raised.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    slot.get_or_insert(error);
}

fn make(py: Python<'_>, class: &Py<PyAny>, params: &BTreeMap<String, i64>) -> PyResult<Hooks> {
    let keywords = PyDict::new(py);
    for (name, value) in params {
        keywords.set_item(name, value)?;
    }
    let call = Call::begin(py, "__init__");
    let one = class.call(py, (), Some(&keywords))?.into_bound(py);
    drop(call);
    let hook = |name: &str| one.getattr_opt(name).map(|found| found.map(Bound::unbind));
    Ok(Hooks {
        on_ack: one.getattr("on_ack")?.unbind(),
        on_loss: hook("on_loss")?,
        on_timeout: hook("on_timeout")?,
        init: hook("init")?,
    })
}

/// The bound methods of one instance.
struct Hooks {
    on_ack: Py<PyAny>,
    on_loss: Option<Py<PyAny>>,
    on_timeout: Option<Py<PyAny>>,
    init: Option<Py<PyAny>>,
}

/// The call of a hook that a thread is in.
struct Under {
    /// As Python's `threading.get_ident()` names it.
    thread: u64,
    /// The hook, and when it was called; none between calls.
    call: Mutex<Option<(&'static str, Instant)>>,
}

/// Each thread that has called hooks.
static THREADS: Mutex<Vec<Weak<Under>>> = Mutex::new(Vec::new());

thread_local! {
    static UNDER: OnceCell<Arc<Under>> = const { OnceCell::new() };
}

/// A call of a hook, as long as this lives: for who watches calls that do not return.
struct Call;

impl Call {
    #[allow(clippy::disallowed_methods, reason = "a hook takes real time")]
    fn begin(py: Python<'_>, hook: &'static str) -> Call {
        UNDER.with(|under| {
            let under = under.get_or_init(|| {
                let ident = || py.import("threading")?.call_method0("get_ident")?.extract();
                let thread = ident().unwrap_or(0);
                let under = Arc::new(Under { thread, call: Mutex::new(None) });
                let mut threads = THREADS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                threads.retain(|other| other.strong_count() > 0);
                threads.push(Arc::downgrade(&under));
                under
            });
            set(under, Some((hook, Instant::now())));
        });
        Call
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        UNDER.with(|under| under.get().map(|under| set(under, None)));
    }
}

fn set(under: &Under, call: Option<(&'static str, Instant)>) {
    *under.call.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = call;
}

/// The calls of hooks that have not returned; see the stub.
#[pyfunction]
#[allow(clippy::disallowed_methods, reason = "a hook takes real time")]
pub fn python_calls() -> Vec<(u64, String, f64)> {
    let threads = THREADS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let under = threads.iter().filter_map(Weak::upgrade);
    let call = |under: Arc<Under>| {
        let call = *under.call.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        call.map(|(hook, since)| (under.thread, hook.to_owned(), since.elapsed().as_secs_f64()))
    };
    under.filter_map(call).collect()
}

struct PyController {
    hooks: Hooks,
    raised: Raised,
    failed: bool,
}

/// `TCP_CA_Recovery` and `TCP_CA_Loss`.
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;

impl PyController {
    /// Calls a hook and does what it answers; the first exception ends the run.
    fn call(&mut self, hook: Hook, sk: &mut TcpSock, sample: Sample) {
        if self.failed {
            return;
        }
        let hooks = &self.hooks;
        let (found, is_optional) = match hook {
            Hook::Ack => (Some(&hooks.on_ack), false),
            Hook::Loss => (hooks.on_loss.as_ref(), true),
            Hook::Timeout => (hooks.on_timeout.as_ref(), true),
            Hook::Init => (hooks.init.as_ref(), true),
        };
        let Some(found) = found else { return };
        let done = Python::attach(|py| {
            let _call = Call::begin(py, hook.name());
            let answer = found.call1(py, (sample,))?.into_bound(py);
            apply(&answer, is_optional, hook.name(), sk)
        });
        if let Err(error) = done {
            self.failed = true;
            keep(&self.raised, error);
        }
    }
}

#[derive(Clone, Copy)]
enum Hook {
    Ack,
    Loss,
    Timeout,
    Init,
}

impl Hook {
    fn name(self) -> &'static str {
        match self {
            Self::Ack => "on_ack",
            Self::Loss => "on_loss",
            Self::Timeout => "on_timeout",
            Self::Init => "init",
        }
    }
}

impl Custom for PyController {
    fn init(&mut self, sk: &mut TcpSock) {
        if sk.sk_pacing_status == cca::SK_PACING_NONE {
            sk.sk_pacing_status = cca::SK_PACING_NEEDED;
        }
        let sample = Sample::of_handshake(sk);
        self.call(Hook::Init, sk, sample);
    }

    fn on_ack(&mut self, sk: &mut TcpSock, rs: &RateSample) {
        let sample = Sample::new(sk, Some(rs));
        self.call(Hook::Ack, sk, sample);
    }

    fn set_state(&mut self, sk: &mut TcpSock, state: u8) {
        let hook = match state {
            RECOVERY if sk.icsk_ca_state < RECOVERY => Hook::Loss,
            LOSS => Hook::Timeout,
            _ => return,
        };
        let sample = Sample::new(sk, None);
        self.call(hook, sk, sample);
    }
}

/// Takes (cwnd, pacing rate) into the socket: segments, and bit/s or None for no pacing.
fn apply(
    answer: &Bound<'_, PyAny>,
    is_optional: bool,
    hook: &str,
    sk: &mut TcpSock,
) -> PyResult<()> {
    if is_optional && answer.is_none() {
        return Ok(());
    }
    let wrong = || {
        let given = answer.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
        let or_none = if is_optional { " or None" } else { "" };
        PyTypeError::new_err(format!(
            "{hook}() gave {given}, wanted (cwnd in segments, pacing rate in bit/s or None){or_none}"
        ))
    };
    let pair = answer.cast::<PyTuple>().map_err(|_| wrong())?;
    if pair.len() != 2 {
        return Err(wrong());
    }
    let out_of_range = |what: &str, given: &Bound<'_, PyAny>, wanted: &str| {
        let given = given.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
        PyTypeError::new_err(format!("{hook}() gave {what} {given}, wanted {wanted}"))
    };
    let window = pair.get_item(0)?;
    let cwnd = number(&window, 1, u64::from(u32::MAX)).ok_or_else(|| {
        out_of_range("a cwnd of", &window, "a number of segments from 1 to 4294967295")
    })?;
    let pacing = pair.get_item(1)?;
    let rate = if pacing.is_none() {
        cca::UNLIMITED_RATE
    } else {
        let rate = number(&pacing, 8, u64::MAX / 8).ok_or_else(|| {
            let wanted = "bit/s from 8 on, or None for a sender that does not pace";
            out_of_range("a pacing rate of", &pacing, wanted)
        })?;
        rate / 8
    };
    sk.snd_cwnd = (cwnd as u32).min(sk.snd_cwnd_clamp);
    sk.sk_pacing_rate = rate.min(sk.sk_max_pacing_rate);
    Ok(())
}

/// A whole number or a float (cut to a whole one) in this range; a bool is neither.
fn number(value: &Bound<'_, PyAny>, minimum: u64, most: u64) -> Option<u64> {
    if value.is_instance_of::<pyo3::types::PyBool>() {
        return None;
    }
    let whole = match value.extract::<u64>() {
        Ok(whole) => whole,
        Err(_) => {
            let float: f64 = value.extract().ok()?;
            if !(float >= minimum as f64 && float < 1.8e19) {
                return None;
            }
            float as u64
        }
    };
    (minimum..=most).contains(&whole).then_some(whole)
}
