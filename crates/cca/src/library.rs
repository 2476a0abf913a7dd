//! Opens shared objects of users' controllers. Each opening gets a copy of its own, so that a module's
//! variables are shared by the flows that ask for it with the same parameters, and by nobody else.

use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::fs;
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::guard::{around, warn};
use crate::module::{Module, RawModule};
use crate::raw::{interned, text, COPY};
use crate::watch;

extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlclose(handle: *mut c_void) -> c_int;
    fn dlerror() -> *const c_char;
}

/// `RTLD_NOW`: every symbol is looked up now, so that a missing one is an error and not a crash.
const RTLD_NOW: c_int = 2;

/// What runs when a shared object is opened.
const CONSTRUCTORS: &str = "constructor";

/// A shared object that is not a controller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The dynamic linker refused it.
    #[error("{path}: {reason}")]
    Open {
        /// The shared object.
        path: String,
        /// What the linker says, the missing symbol's name included.
        reason: String,
    },
    /// It holds no controller, or one that cannot start.
    #[error("{reason}")]
    NoController {
        /// Why.
        reason: String,
    },
}

/// An open copy of a shared object.
#[derive(Debug)]
pub(crate) struct Library {
    handle: NonNull<c_void>,
    /// The controller in it, once that is known.
    name: &'static str,
    stop: Option<unsafe extern "C" fn()>,
}

// SAFETY: the handle is only used to look up symbols and to close; both may be done by any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// Opens a copy of `path`.
    pub(crate) fn open(path: &Path) -> Result<Self, LoadError> {
        let copy = private_copy(path).map_err(|e| LoadError::Open {
            path: path.display().to_string(),
            reason: e.to_string(),
        })?;
        let name = CString::new(copy.as_os_str().as_bytes()).expect("a path has no zero byte");
        // SAFETY: a terminated path; the object's constructors are the user's own code.
        let handle = around("", CONSTRUCTORS, || unsafe { dlopen(name.as_ptr(), RTLD_NOW) });
        let opened = NonNull::new(handle).ok_or_else(|| LoadError::Open {
            path: path.display().to_string(),
            reason: last_error().replace(&*copy.to_string_lossy(), "shared object"),
        });
        // Open or not, the file has done its service; the mapping stays.
        drop(fs::remove_file(&copy));
        opened.map(|handle| Self { handle, name: "", stop: None })
    }

    /// Address of a symbol, when there is one.
    fn symbol(&self, name: &str) -> Option<NonNull<c_void>> {
        let name = CString::new(name).ok()?;
        // SAFETY: an open handle and a terminated name.
        NonNull::new(unsafe { dlsym(self.handle.as_ptr(), name.as_ptr()) })
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        if let Some(stop) = self.stop {
            // SAFETY: cca_module_stop of this library, whose flows are gone: `Module` is borrowed by them.
            around(self.name, "module_exit", || unsafe { stop() });
        }
        // SAFETY: opened once, closed once; nothing of it is used any more.
        around(self.name, "destructor", || unsafe { dlclose(self.handle.as_ptr()) });
    }
}

fn last_error() -> String {
    // SAFETY: dlerror gives NULL or a string that is valid until this thread's next call.
    let text = unsafe { dlerror() };
    if text.is_null() {
        return "cannot be opened".to_owned();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The dynamic linker opens a file once, however often it is asked; so give it a file of its own.
fn private_copy(path: &Path) -> std::io::Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = path.parent().unwrap_or(Path::new("."));
    let copy = folder.join(format!("{COPY}{}-{n}.so", std::process::id()));
    fs::copy(path, &copy)?;
    Ok(copy)
}

/// Which parameters to set, by position, when the module has been described.
pub(crate) type Values<'a> = &'a dyn Fn(&Module) -> Result<Vec<(u32, i64)>, String>;

/// Opens the controller in `path`: one in our style when `symbol` names its table, else a kernel
/// module, started with these values of its parameters, by position, and with random numbers from `seed`.
pub(crate) fn open(
    path: &Path,
    symbol: Option<&str>,
    doc: String,
    seed: u64,
    values: Values<'_>,
) -> Result<Module, LoadError> {
    let library = Library::open(path)?;
    match symbol {
        Some(symbol) => ours(library, symbol, doc),
        None => kernel(library, doc, seed, values),
    }
}

fn ours(library: Library, symbol: &str, doc: String) -> Result<Module, LoadError> {
    let table = library.symbol(symbol).ok_or_else(|| LoadError::NoController {
        reason: format!(
            "no `{symbol}`: the first argument of CCA_MODULE must be the file's name, \"_\" for \"-\""
        ),
    })?;
    // SAFETY: the compiler checked against our headers that the symbol is a `struct cca_module`; it is
    // an immutable object of the library, which `Module` keeps open.
    Ok(unsafe { Module::loaded(table.cast::<RawModule>().as_ref(), doc, Some(library)) })
}

/// What `cca/hosts/module/glue.h` exports.
struct Glue {
    describe: unsafe extern "C" fn() -> *const RawModule,
    set: unsafe extern "C" fn(u32, i64) -> c_int,
    start: unsafe extern "C" fn() -> c_int,
    stop: unsafe extern "C" fn(),
    error: NonNull<*const c_char>,
    tell: NonNull<Tell>,
    seed: NonNull<u64>,
}

/// `cca_module_tell` of glue.h.
type Tell = unsafe extern "C" fn(*const c_char, c_int, *const c_char, c_int);

impl Glue {
    fn find(library: &Library) -> Result<Self, LoadError> {
        let need = |name: &str| {
            library.symbol(name).map(NonNull::as_ptr).ok_or_else(|| LoadError::NoController {
                reason: format!("no `{name}`: not linked by this program"),
            })
        };
        let (describe, set) = (need("cca_module_describe")?, need("cca_module_set")?);
        let (start, stop) = (need("cca_module_start")?, need("cca_module_stop")?);
        let (error, tell) = (need("cca_module_error")?, need("cca_module_tell")?);
        let seed = need("cca_module_seed")?;
        // SAFETY: glue.h declares the symbols with the types of these fields; none is NULL.
        unsafe {
            Ok(Self {
                describe: mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const RawModule>(
                    describe,
                ),
                set: mem::transmute::<*mut c_void, unsafe extern "C" fn(u32, i64) -> c_int>(set),
                start: mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(start),
                stop: mem::transmute::<*mut c_void, unsafe extern "C" fn()>(stop),
                error: NonNull::new_unchecked(error.cast()),
                tell: NonNull::new_unchecked(tell.cast()),
                seed: NonNull::new_unchecked(seed.cast()),
            })
        }
    }

    /// Sets these parameters.
    fn set_all(&self, module: &Module, values: Vec<(u32, i64)>) -> Result<(), LoadError> {
        for (index, value) in values {
            // SAFETY: writes a variable of the module.
            if around("", "module_param", || unsafe { (self.set)(index, value) }) != 0 {
                let name = module.params()[index as usize].name.to_owned();
                let reason = format!("parameter `{name}` refuses {value}");
                return Err(LoadError::NoController { reason });
            }
        }
        Ok(())
    }

    /// Runs the module's `module_init()`.
    fn start(&self, seed: u64) -> Result<(), LoadError> {
        // SAFETY: variables of module.c that nobody reads at present.
        unsafe {
            self.tell.as_ptr().write(tell);
            self.seed.as_ptr().write(seed);
        }
        // SAFETY: called once per library, before anybody else sees the module.
        let failed = around("", "module_init", || unsafe { (self.start)() });
        if failed == 0 {
            return Ok(());
        }
        // SAFETY: a `const char *` of module.c, always a literal.
        let said = text(unsafe { *self.error.as_ptr() });
        let reason = match said {
            "" => format!("its module_init() fails with error {}", -failed),
            said => said.to_owned(),
        };
        Err(LoadError::NoController { reason })
    }
}

/// A module's `WARN_ON` or `BUG_ON` holds, or it has done what ends it (cca/hosts/module/module.c).
///
/// # Safety
/// `file` and `what` are NULL or strings that nobody changes meanwhile.
unsafe extern "C" fn tell(file: *const c_char, line: c_int, what: *const c_char, kind: c_int) {
    let said = format!("{}:{line}: {}", text(file), text(what));
    match kind {
        0 => warn(&said),
        1 => watch::fail(&format!("stops at {said}")),
        _ => watch::fail(text(what)),
    }
}

/// Starts a kernel module.
fn kernel(
    mut library: Library,
    doc: String,
    seed: u64,
    values: Values<'_>,
) -> Result<Module, LoadError> {
    let glue = Glue::find(&library)?;
    // SAFETY: gives a static object of the library, changed only by the calls below, before anybody
    // else sees it.
    let raw: &'static RawModule = unsafe { &*(glue.describe)() };
    // SAFETY: as above; the view is dropped before the module starts.
    let view = unsafe { Module::loaded(raw, String::new(), None) };
    let values = values(&view).map_err(|reason| LoadError::NoController { reason })?;
    glue.set_all(&view, values)?;
    drop(view);
    glue.start(seed)?;
    library.stop = Some(glue.stop);
    // SAFETY: complete now; its operations have a name.
    library.name = interned(text(unsafe { (*raw.ops).name.as_ptr() }));
    // SAFETY: complete now, and immutable from now on.
    Ok(unsafe { Module::loaded(raw, doc, Some(library)) })
}
