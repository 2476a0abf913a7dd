//! The table of controllers: what each is, its parameters and its states.

use std::borrow::Cow;
use std::ffi::c_char;
use std::slice;

use crate::library::Library;
use crate::raw::{interned, text, RawOps};
use crate::sock::TcpSock;

#[repr(C)]
pub(crate) struct RawParam {
    name: *const c_char,
    unit: *const c_char,
    doc: *const c_char,
    default: i64,
    min: i64,
    max: i64,
}

#[repr(C)]
struct RawPresetValue {
    param: u32,
    value: i64,
}

#[repr(C)]
struct RawPreset {
    name: *const c_char,
    doc: *const c_char,
    values: *const RawPresetValue,
    n_values: u32,
}

/// `struct cca_presets` of `cca/hosts/sim/table.h`.
#[repr(C)]
pub(crate) struct RawPresets {
    list: *const RawPreset,
    n: u32,
}

#[repr(C)]
struct RawVariable {
    name: *const c_char,
    unit: *const c_char,
    doc: *const c_char,
}

/// `struct cca_vars` of `cca/include/info.h`.
#[repr(C)]
pub(crate) struct RawVariables {
    list: *const RawVariable,
    pub(crate) n: u32,
    pub(crate) read: Option<unsafe extern "C" fn(*mut TcpSock, *mut i64) -> bool>,
}

/// `struct cca_module` of `cca/hosts/sim/table.h`.
#[repr(C)]
pub(crate) struct RawModule {
    pub(crate) ops: *const RawOps,
    pub(crate) params: *const RawParam,
    pub(crate) states: *const *const c_char,
    pub(crate) license: *const c_char,
    pub(crate) presets: *const RawPresets,
    pub(crate) variables: *const RawVariables,
    pub(crate) n_params: u32,
    pub(crate) n_states: u32,
    pub(crate) priv_bytes: u32,
    pub(crate) is_large: u32,
}

// SAFETY: RawModule and all it points to are immutable objects of the C library.
unsafe impl Sync for RawModule {}
// SAFETY: as above.
unsafe impl Send for RawModule {}

include!(concat!(env!("OUT_DIR"), "/modules.rs"));

/// `TCP_CONG_NEEDS_ECN` of `kernel.h`.
const NEEDS_ECN: u32 = 0x2;
/// `TCP_CONG_NEEDS_ACCECN` and `TCP_CONG_ECT_1_NEGOTIATION` of `kernel.h`.
const NEEDS_L4S: u32 = 0x4 | 0x8;

/// One parameter of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param<'a> {
    /// Name, as in a scenario's `params`.
    pub name: &'a str,
    /// Value when the scenario says nothing.
    pub default: i64,
    /// Least value accepted.
    pub min: i64,
    /// Largest value accepted.
    pub max: i64,
    /// Unit of the value; the C type of a kernel module's.
    pub unit: &'a str,
    /// What it does.
    pub doc: &'a str,
}

/// A set of parameter values that has a name, such as what another implementation of the controller does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preset<'a> {
    /// Name, as in a scenario's `preset`.
    pub name: &'a str,
    /// Its meaning.
    pub doc: &'a str,
    /// Parameters and their values in the order of the source; the others keep their defaults.
    pub values: Vec<(&'a str, i64)>,
}

/// A variable of a controller that records may keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Name, as records have it.
    pub name: &'static str,
    /// Unit of its values; empty where they number words.
    pub unit: &'static str,
    /// What the values 0, 1 and so on stand for, where they number words.
    pub words: Vec<&'static str>,
    /// What it is.
    pub doc: String,
}

impl Variable {
    /// The word of a value, where it numbers one.
    #[must_use]
    pub fn word(&self, value: i64) -> Option<&'static str> {
        usize::try_from(value).ok().and_then(|place| self.words.get(place).copied())
    }
}

/// A controller: compiled into this library, or loaded from a shared object of a user's.
pub struct Module {
    pub(crate) raw: &'static RawModule,
    pub(crate) doc: Cow<'static, str>,
    /// What `raw` lies in when it was loaded; kept open as long as this lives.
    pub(crate) _library: Option<Library>,
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Module").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl Module {
    /// All controllers, sorted by name.
    #[must_use]
    pub fn all() -> &'static [Module] {
        MODULES
    }

    /// The controller of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Module> {
        MODULES.iter().find(|module| module.name() == name)
    }

    /// A controller that was loaded: `raw` lies in `library`, or for ever.
    ///
    /// # Safety
    /// What `raw` points to is complete, immutable and lives as long as `library`.
    pub(crate) unsafe fn loaded(
        raw: &'static RawModule,
        doc: String,
        library: Option<Library>,
    ) -> Self {
        Self { raw, doc: doc.into(), _library: library }
    }

    /// Name, as in a scenario's `cca`.
    #[must_use]
    pub fn name(&self) -> &str {
        text(self.ops().name.as_ptr())
    }

    /// Head comment of the source: model, state diagram, sources.
    #[must_use]
    pub fn doc(&self) -> &str {
        &self.doc
    }

    /// First sentence of `doc`, on one line, without the closing full stop.
    #[must_use]
    pub fn summary(&self) -> String {
        let paragraph = self.doc.split("\n\n").next().unwrap_or_default();
        let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        line.split(". ").next().unwrap_or_default().trim_end_matches('.').to_owned()
    }

    /// SPDX expression of the source.
    #[must_use]
    pub fn license(&self) -> &str {
        text(self.raw.license)
    }

    /// Parameters in the order of the source.
    #[must_use]
    pub fn params(&self) -> Vec<Param<'_>> {
        let param = |row: &RawParam| Param {
            name: text(row.name),
            default: row.default,
            min: row.min,
            max: row.max,
            unit: text(row.unit),
            doc: text(row.doc),
        };
        self.rows().iter().map(param).collect()
    }

    /// Values of the parameters where none is given, in the order of the source.
    pub(crate) fn defaults(&self) -> Vec<i64> {
        self.rows().iter().map(|row| row.default).collect()
    }

    /// Which parameter has this name.
    pub(crate) fn place_of(&self, name: &str) -> Option<usize> {
        self.rows().iter().position(|row| text(row.name) == name)
    }

    fn rows(&self) -> &[RawParam] {
        // SAFETY: C declares n_params rows at `params`, immutable and for ever.
        unsafe { array(self.raw.params, self.raw.n_params) }
    }

    /// Presets in the order of the source.
    #[must_use]
    pub fn presets(&self) -> Vec<Preset<'_>> {
        // SAFETY: NULL, or an immutable object of the C module.
        let Some(presets) = (unsafe { self.raw.presets.as_ref() }) else { return Vec::new() };
        let params = self.params();
        // SAFETY: C declares n rows at `list`, immutable and for ever.
        let rows = unsafe { array(presets.list, presets.n) };
        let preset = |row: &RawPreset| {
            // SAFETY: C declares n_values rows at `values`, immutable and for ever.
            let values = unsafe { array(row.values, row.n_values) };
            // The C compiler has checked each value against its parameter.
            let values = values.iter().map(|v| (params[v.param as usize].name, v.value)).collect();
            Preset { name: text(row.name), doc: text(row.doc), values }
        };
        rows.iter().map(preset).collect()
    }

    /// Variables in the order of the source.
    #[must_use]
    pub fn variables(&self) -> Vec<Variable> {
        let Some(raw) = self.raw_variables() else { return Vec::new() };
        // SAFETY: C declares n rows at `list`, immutable and for ever.
        let rows = unsafe { array(raw.list, raw.n) };
        let variable = |row: &RawVariable| {
            let unit = text(row.unit);
            let has_words = unit.contains('|');
            Variable {
                name: interned(text(row.name)),
                unit: if has_words { "" } else { interned(unit) },
                words: unit.split('|').filter(|_| has_words).map(interned).collect(),
                doc: text(row.doc).to_owned(),
            }
        };
        rows.iter().map(variable).collect()
    }

    pub(crate) fn raw_variables(&self) -> Option<&RawVariables> {
        // SAFETY: NULL, or an immutable object of the C module.
        unsafe { self.raw.variables.as_ref() }
    }

    /// Names of the states that `CaInfo::state` indexes; empty when there are none.
    #[must_use]
    pub fn states(&self) -> Vec<&'static str> {
        // SAFETY: C declares n_states strings at `states`, immutable and for ever.
        let names = unsafe { array(self.raw.states, self.raw.n_states) };
        names.iter().map(|&name| interned(text(name))).collect()
    }

    /// Size of the private state, bytes.
    #[must_use]
    pub fn priv_bytes(&self) -> u32 {
        self.raw.priv_bytes
    }

    /// Does it ask for ECN on every packet (`TCP_CONG_NEEDS_ECN`)?
    #[must_use]
    pub fn needs_ecn(&self) -> bool {
        self.ops().flags & NEEDS_ECN != 0
    }

    /// Does it ask for accurate ECN with ECT(1) on every packet (`TCP_CONG_ECT_1_NEGOTIATION`)?
    #[must_use]
    pub fn needs_l4s(&self) -> bool {
        self.ops().flags & NEEDS_L4S == NEEDS_L4S
    }

    /// Does `cong_control` replace `cong_avoid`, PRR and the stack's pacing rate?
    #[must_use]
    pub fn has_cong_control(&self) -> bool {
        self.ops().cong_control.is_some()
    }

    pub(crate) fn ops(&self) -> &RawOps {
        // SAFETY: points to the immutable operations of the C module.
        unsafe { &*self.raw.ops }
    }

    /// Bytes of private state to keep outside the socket; 0 when it lives inside.
    pub(crate) fn storage_bytes(&self) -> usize {
        if self.raw.is_large == 0 {
            0
        } else {
            self.raw.priv_bytes as usize
        }
    }
}

/// A C array, which may be NULL when empty.
///
/// # Safety
/// `start` points to `len` immutable elements that outlive what the caller borrows, or `len` is 0.
unsafe fn array<'a, T>(start: *const T, len: u32) -> &'a [T] {
    if len == 0 {
        &[]
    } else {
        // SAFETY: as promised by the caller.
        unsafe { slice::from_raw_parts(start, len as usize) }
    }
}
