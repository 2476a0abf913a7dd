//! A controller with its parameters, ready to be called for one flow.

use std::cell::UnsafeCell;
use std::collections::BTreeMap;

use crate::module::{Module, RawOps};
use crate::sample::{AckSample, CaEvent, CaInfo, CaState, RateSample};
use crate::sock::TcpSock;

/// A value in a scenario's `params` that the controller does not accept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParamError {
    /// No parameter has that name.
    #[error("{cca} has no parameter `{name}`{}", hint(.nearest.as_deref(), .valid))]
    Unknown {
        /// The controller.
        cca: String,
        /// The name given.
        name: String,
        /// The most similar valid name, when one is similar.
        nearest: Option<String>,
        /// All valid names.
        valid: Vec<String>,
    },
    /// The value is not in the parameter's range.
    #[error("{cca}: `{name}` must be {min} to {max} {unit}, got {value}")]
    OutOfRange {
        /// The controller.
        cca: String,
        /// The parameter.
        name: String,
        /// The value given.
        value: i64,
        /// Least value accepted.
        min: u32,
        /// Largest value accepted.
        max: u32,
        /// Unit of the value.
        unit: String,
    },
}

fn hint(nearest: Option<&str>, valid: &[String]) -> String {
    match (nearest, valid) {
        (Some(name), _) => format!("; did you mean `{name}`?"),
        (None, []) => "; it takes no parameters".to_owned(),
        (None, names) => format!("; it takes {}", names.join(", ")),
    }
}

/// A controller for one flow: the module, the flow's parameter values and its large state.
///
/// Every hook costs one null check, two stores and one indirect call.
#[derive(Debug)]
pub struct Controller {
    module: &'static Module,
    params: Box<[u32]>,
    /// Private state that does not fit into the socket; C writes it during calls.
    storage: Box<[UnsafeCell<u64>]>,
}

impl Controller {
    /// A controller with `params` where given and the defaults elsewhere.
    ///
    /// # Errors
    /// `ParamError` when a name is unknown or a value is out of its range.
    pub fn new(
        module: &'static Module,
        params: &BTreeMap<String, i64>,
    ) -> Result<Self, ParamError> {
        let declared = module.params();
        let mut values: Box<[u32]> = declared.iter().map(|p| p.default).collect();
        for (name, &value) in params {
            let Some(index) = declared.iter().position(|p| p.name == name) else {
                return Err(unknown(module, name));
            };
            let p = &declared[index];
            values[index] = u32::try_from(value)
                .ok()
                .filter(|v| (p.min..=p.max).contains(v))
                .ok_or_else(|| ParamError::OutOfRange {
                    cca: module.name().to_owned(),
                    name: name.clone(),
                    value,
                    min: p.min,
                    max: p.max,
                    unit: p.unit.to_owned(),
                })?;
        }
        let words = module.storage_bytes().div_ceil(size_of::<u64>());
        let storage = (0..words).map(|_| UnsafeCell::new(0)).collect();
        Ok(Self { module, params: values, storage })
    }

    /// The module that this controller runs.
    #[must_use]
    pub fn module(&self) -> &'static Module {
        self.module
    }

    /// Prepares `sk` for this controller: tick rate, random numbers, cleared private state. Call it
    /// once, before `init`.
    ///
    /// # Panics
    /// When `hz` is 0.
    pub fn attach(&self, sk: &mut TcpSock, hz: u32, seed: u64) {
        assert!(hz > 0, "a tick rate of 0 Hz has no clock");
        sk.hz = hz;
        sk.rng = seed;
        sk.icsk_ca_priv = [0; 13];
    }

    #[inline]
    fn ops(&self) -> &'static RawOps {
        self.module.ops()
    }

    /// The pointer that C gets. The parameter table and the storage are entered anew for each call, so
    /// that C can only reach memory that this controller owns, whatever happened to `sk` before.
    #[inline]
    fn enter(&self, sk: &mut TcpSock) -> *mut TcpSock {
        sk.params = self.params.as_ptr();
        sk.storage = UnsafeCell::raw_get(self.storage.as_ptr()).cast();
        sk
    }
}

/// Defines hooks: each calls the C function if the controller has one.
macro_rules! hooks {
    ($($(#[$doc:meta])* $hook:ident($($arg:ident: $type:ty as $pass:expr),*);)*) => {
        impl Controller {
            $(
                $(#[$doc])*
                #[inline]
                pub fn $hook(&self, sk: &mut TcpSock $(, $arg: $type)*) {
                    if let Some(hook) = self.ops().$hook {
                        // SAFETY: sk is exclusive and has the layout that C expects (layout test);
                        // what it points to is ours (`enter`); C keeps no pointer.
                        unsafe { hook(self.enter(sk) $(, $pass)*) }
                    }
                }
            )*
        }
    };
}

hooks! {
    /// Called once when the connection is established.
    init();
    /// Called once when the connection ends.
    release();
    /// `acked` segments were delivered by an ACK for `ack` (seq), outside recovery: grow.
    cong_avoid(ack: u32 as ack, acked: u32 as acked);
    /// Loss recovery is about to enter `new`; call it before `icsk_ca_state` changes.
    set_state(new: CaState as new as u8);
    /// Something happened to the window or to ECN.
    cwnd_event(event: CaEvent as event as u32);
    /// An ACK arrived; `flags` are `CA_ACK_*`.
    in_ack_event(flags: u32 as flags);
    /// An ACK arrived; called before state, window and rate are updated.
    pkts_acked(sample: &AckSample as sample);
    /// Last step of each ACK for modules with `has_cong_control`.
    cong_control(ack: u32 as ack, flag: i32 as flag, sample: &RateSample as sample);
}

/// Defines hooks that return a number.
macro_rules! answers {
    ($($(#[$doc:meta])* $hook:ident -> $absent:expr;)*) => {
        impl Controller {
            $(
                $(#[$doc])*
                #[inline]
                pub fn $hook(&self, sk: &mut TcpSock) -> u32 {
                    match self.ops().$hook {
                        // SAFETY: as for the hooks above.
                        Some(hook) => unsafe { hook(self.enter(sk)) },
                        None => $absent,
                    }
                }
            )*
        }
    };
}

answers! {
    /// Congestion begins: the new slow-start threshold, segs.
    ssthresh -> unreachable!("every controller has ssthresh (test)");
    /// The reduction was spurious: the window to go back to, segs.
    undo_cwnd -> unreachable!("every controller has undo_cwnd (test)");
    /// Factor of the send buffer over the window.
    sndbuf_expand -> 2;
}

impl Controller {
    /// Least number of segments in a burst, when the controller says so.
    #[inline]
    pub fn min_tso_segs(&self, sk: &mut TcpSock) -> Option<u32> {
        // SAFETY: as for the hooks above.
        self.ops().min_tso_segs.map(|hook| unsafe { hook(self.enter(sk)) })
    }

    /// Does `cong_control` replace `cong_avoid`, PRR and the stack's pacing rate?
    #[must_use]
    #[inline]
    pub fn has_cong_control(&self) -> bool {
        self.ops().cong_control.is_some()
    }

    /// The controller's estimates, for records. Not for the hot path: the socket is copied, since
    /// reporting must not change it.
    #[must_use]
    pub fn info(&self, sk: &TcpSock) -> CaInfo {
        let mut info = CaInfo::default();
        if let Some(hook) = self.ops().info {
            let mut copy = sk.clone();
            // SAFETY: as for the hooks above; info is exclusive and has the C layout (layout test).
            unsafe { hook(self.enter(&mut copy), &mut info) }
        }
        info
    }
}

fn unknown(module: &Module, name: &str) -> ParamError {
    let valid: Vec<String> = module.params().iter().map(|p| p.name.to_owned()).collect();
    let near =
        |candidate: &&String| distance(candidate, name) <= candidate.len().max(name.len()) / 3;
    let nearest = valid.iter().filter(near).min_by_key(|v| distance(v, name)).cloned();
    ParamError::Unknown { cca: module.name().to_owned(), name: name.to_owned(), nearest, valid }
}

/// Edit distance (Levenshtein), in bytes.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
