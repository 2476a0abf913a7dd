//! The table of controllers: what each is, its parameters and its states.

use std::ffi::{c_char, CStr};
use std::slice;

use crate::sample::{AckSample, CaInfo, RateSample};
use crate::sock::TcpSock;

/// `struct tcp_congestion_ops` as `cca/include/kernel.h` declares it natively.
#[repr(C)]
pub(crate) struct RawOps {
    pub ssthresh: Option<unsafe extern "C" fn(*mut TcpSock) -> u32>,
    pub cong_avoid: Option<unsafe extern "C" fn(*mut TcpSock, u32, u32)>,
    pub set_state: Option<unsafe extern "C" fn(*mut TcpSock, u8)>,
    pub cwnd_event: Option<unsafe extern "C" fn(*mut TcpSock, u32)>,
    pub in_ack_event: Option<unsafe extern "C" fn(*mut TcpSock, u32)>,
    pub pkts_acked: Option<unsafe extern "C" fn(*mut TcpSock, *const AckSample)>,
    pub min_tso_segs: Option<unsafe extern "C" fn(*mut TcpSock) -> u32>,
    pub cong_control: Option<unsafe extern "C" fn(*mut TcpSock, u32, i32, *const RateSample)>,
    pub undo_cwnd: Option<unsafe extern "C" fn(*mut TcpSock) -> u32>,
    pub sndbuf_expand: Option<unsafe extern "C" fn(*mut TcpSock) -> u32>,
    name: [c_char; 16],
    flags: u32,
    pub init: Option<unsafe extern "C" fn(*mut TcpSock)>,
    pub release: Option<unsafe extern "C" fn(*mut TcpSock)>,
    pub info: Option<unsafe extern "C" fn(*mut TcpSock, *mut CaInfo)>,
}

#[repr(C)]
struct RawParam {
    name: *const c_char,
    unit: *const c_char,
    doc: *const c_char,
    default: u32,
    min: u32,
    max: u32,
}

/// `struct cca_module` of `cca/hosts/sim/host.h`.
#[repr(C)]
struct RawModule {
    ops: *const RawOps,
    params: *const RawParam,
    states: *const *const c_char,
    license: *const c_char,
    n_params: u32,
    n_states: u32,
    priv_bytes: u32,
    is_large: u32,
}

// SAFETY: RawModule and all it points to are immutable objects of the C library.
unsafe impl Sync for RawModule {}

include!(concat!(env!("OUT_DIR"), "/modules.rs"));

/// `TCP_CONG_NEEDS_ECN` of `kernel.h`.
const NEEDS_ECN: u32 = 0x2;

/// One parameter of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Name, as in a scenario's `params`.
    pub name: &'static str,
    /// Value when the scenario says nothing.
    pub default: u32,
    /// Least value accepted.
    pub min: u32,
    /// Largest value accepted.
    pub max: u32,
    /// Unit of the value.
    pub unit: &'static str,
    /// What it does.
    pub doc: &'static str,
}

/// A controller compiled into this library.
pub struct Module {
    raw: &'static RawModule,
    doc: &'static str,
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

    /// Name, as in a scenario's `cca`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        text(self.ops().name.as_ptr())
    }

    /// Head comment of the source: model, state diagram, sources.
    #[must_use]
    pub fn doc(&self) -> &'static str {
        self.doc
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
    pub fn license(&self) -> &'static str {
        text(self.raw.license)
    }

    /// Parameters in the order of the source.
    #[must_use]
    pub fn params(&self) -> Vec<Param> {
        // SAFETY: C declares n_params rows at `params`, immutable and for ever.
        let rows = unsafe { array(self.raw.params, self.raw.n_params) };
        rows.iter()
            .map(|row| Param {
                name: text(row.name),
                default: row.default,
                min: row.min,
                max: row.max,
                unit: text(row.unit),
                doc: text(row.doc),
            })
            .collect()
    }

    /// Names of the states that `CaInfo::state` indexes; empty when there are none.
    #[must_use]
    pub fn states(&self) -> Vec<&'static str> {
        // SAFETY: C declares n_states strings at `states`, immutable and for ever.
        let names = unsafe { array(self.raw.states, self.raw.n_states) };
        names.iter().map(|&name| text(name)).collect()
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

    /// Does `cong_control` replace `cong_avoid`, PRR and the stack's pacing rate?
    #[must_use]
    pub fn has_cong_control(&self) -> bool {
        self.ops().cong_control.is_some()
    }

    pub(crate) fn ops(&self) -> &'static RawOps {
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

/// A C string literal of the controllers as text.
fn text(s: *const c_char) -> &'static str {
    // SAFETY: every string of the modules is a literal: terminated, immutable, for ever.
    let s = unsafe { CStr::from_ptr(s) };
    s.to_str().expect("the controllers' strings are UTF-8")
}

/// A C array, which may be NULL when empty.
///
/// # Safety
/// `start` points to `len` immutable elements that live for ever, or `len` is 0.
unsafe fn array<T>(start: *const T, len: u32) -> &'static [T] {
    if len == 0 {
        &[]
    } else {
        // SAFETY: as promised by the caller.
        unsafe { slice::from_raw_parts(start, len as usize) }
    }
}
