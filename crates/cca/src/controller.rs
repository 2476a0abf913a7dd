//! A controller with its parameters, ready to be called for one flow.

use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::custom::Custom;
use crate::guard::{around, Guarded};
use crate::module::Module;
use crate::names::shown;
use crate::raw::RawOps;
use crate::sample::{AckSample, CaEvent, CaInfo, CaState, LostBurst, RateSample};
use crate::sock::TcpSock;

/// A value in a scenario's `params` that the controller does not accept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParamError {
    /// No parameter has that name.
    #[error("{cca} has no parameter `{}`{}", shown(.name), takes(.valid))]
    Unknown {
        /// The controller.
        cca: String,
        /// The name given.
        name: String,
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
        /// Minimum value accepted.
        min: i64,
        /// Maximum value accepted.
        max: i64,
        /// Unit of the value.
        unit: String,
    },
}

fn takes(valid: &[String]) -> String {
    match valid {
        [] => "; it takes no parameters".to_owned(),
        names => format!("; it takes {}", names.join(", ")),
    }
}

/// The module that a controller runs: one built in, or one that lives as long as its flows.
#[derive(Clone, Debug)]
pub(crate) enum ModuleRef {
    BuiltIn(&'static Module),
    Loaded(Arc<Module>),
}

impl Deref for ModuleRef {
    type Target = Module;

    #[inline]
    fn deref(&self) -> &Module {
        match self {
            Self::BuiltIn(module) => module,
            Self::Loaded(module) => module,
        }
    }
}

/// A controller for one flow: the module, the flow's parameter values and its large state.
///
/// Every hook costs one null check, two stores and one indirect call.
#[derive(Debug)]
pub struct Controller {
    ops: NonNull<RawOps>,
    params: Arc<[u32]>,
    /// Private state that does not fit into the socket; C writes it during calls.
    storage: NonNull<c_void>,
    /// What `storage` points to, and `ops` into; fields are dropped in this order.
    _state: State,
    module: ModuleRef,
}

/// The flow's state outside the socket.
#[derive(Debug)]
enum State {
    Words(
        #[allow(dead_code, reason = "reached through Controller::storage")] Box<[UnsafeCell<u64>]>,
    ),
    Guarded(#[allow(dead_code, reason = "reached through Controller::storage")] Guarded),
    Custom(
        #[allow(dead_code, reason = "reached through Controller::storage")]
        Box<UnsafeCell<Box<dyn Custom>>>,
    ),
}

// SAFETY: the pointers lead to what this value owns (or to immutable objects of its module); a custom
// controller is Send by its trait.
unsafe impl Send for Controller {}

impl Controller {
    /// A controller with `params` where given and the defaults elsewhere.
    ///
    /// # Errors
    /// `ParamError` when a name is unknown or a value is out of its range.
    pub fn new(
        module: &'static Module,
        params: &BTreeMap<String, i64>,
    ) -> Result<Self, ParamError> {
        let values = values(module, params)?;
        Ok(Self::with(ModuleRef::BuiltIn(module), table(&values).into()))
    }

    /// A controller of a module with these parameters, which other flows may have, too.
    pub(crate) fn with(module: ModuleRef, params: Arc<[u32]>) -> Self {
        let words = module.storage_bytes().div_ceil(size_of::<u64>());
        let (ops, storage, state) = match &module {
            ModuleRef::BuiltIn(module) => {
                let memory: Box<[_]> = (0..words).map(|_| UnsafeCell::new(0_u64)).collect();
                (NonNull::from(module.ops()), NonNull::from(&*memory).cast(), State::Words(memory))
            }
            ModuleRef::Loaded(module) => {
                let guarded = Guarded::new(module.name(), module.ops(), words);
                (guarded.ops(), guarded.storage(), State::Guarded(guarded))
            }
        };
        Self { ops, params, storage, _state: state, module }
    }

    /// A controller that is a Rust value.
    pub(crate) fn custom(module: Arc<Module>, custom: Box<dyn Custom>) -> Self {
        let custom = Box::new(UnsafeCell::new(custom));
        Self {
            ops: NonNull::from(module.ops()),
            params: Arc::default(),
            storage: NonNull::from(&*custom).cast(),
            _state: State::Custom(custom),
            module: ModuleRef::Loaded(module),
        }
    }

    /// The module that this controller runs.
    #[must_use]
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Values of the parameters of the flow's own, in their order.
    #[must_use]
    #[inline]
    pub fn values(&self) -> &[u32] {
        &self.params
    }

    /// Value of a parameter of the flow's own, `None` where the module has none of this name or keeps
    /// it in a variable of its own.
    #[must_use]
    pub fn param(&self, name: &str) -> Option<u32> {
        self.params.get(self.module.place_of(name)?).copied()
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
    fn ops(&self) -> &RawOps {
        // SAFETY: points into the module that this value holds.
        unsafe { self.ops.as_ref() }
    }

    /// The pointer that C gets. The parameter table and the storage are entered again for each call, so
    /// that C can only reach memory that this controller owns, whatever happened to `sk` before.
    #[inline]
    pub(crate) fn enter(&self, sk: &mut TcpSock) -> *mut TcpSock {
        sk.params = self.params.as_ptr();
        sk.storage = self.storage.as_ptr();
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
    /// Called once when a connection ends that was established; no hook is called afterwards.
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
    /// A burst was marked lost; call it for each, when `lost` counts it (beyond Linux).
    skb_marked_lost(burst: &LostBurst as burst);
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

    /// Segments of `mss_cache` bytes in a burst, when the controller sizes them (beyond Linux).
    #[inline]
    pub fn tso_segs(&self, sk: &mut TcpSock) -> Option<u32> {
        let mss = sk.mss_cache;
        // SAFETY: as for the hooks above.
        self.ops().tso_segs.map(|hook| unsafe { hook(self.enter(sk), mss) })
    }

    /// Does the controller want to know of lost bursts (beyond Linux)?
    #[must_use]
    #[inline]
    pub fn wants_losses(&self) -> bool {
        self.ops().skb_marked_lost.is_some()
    }

    /// Does `cong_control` replace `cong_avoid`, PRR and the stack's pacing rate?
    #[must_use]
    #[inline]
    pub fn has_cong_control(&self) -> bool {
        self.ops().cong_control.is_some()
    }

    /// The controller's state among [`Module::states`], without the copy of [`Controller::info`]: by its
    /// contract (cca.h) the hook only reads.
    #[inline]
    pub fn state(&self, sk: &mut TcpSock) -> Option<u32> {
        let mut info = CaInfo::default();
        self.tell(sk, &mut info);
        info.state()
    }

    /// Has the hook, where there is one, fill in an empty `info` of this socket.
    #[inline(always)]
    fn tell(&self, sk: &mut TcpSock, info: &mut CaInfo) {
        if let Some(hook) = self.ops().info {
            // SAFETY: as for the hooks above; info is exclusive and has the C layout (layout test).
            unsafe { hook(self.enter(sk), info) }
        }
    }

    /// Fills in the controller's estimates, for records. The socket is copied, since reporting must not change it, unless
    /// the module is built in: of those the hook only reads, as of [`Controller::state`]. `info` is empty, and is filled in
    /// where it lies: a processor waits when it copies what was just written field by field.
    pub fn read_info(&self, sk: &mut TcpSock, info: &mut CaInfo) {
        match self.module {
            ModuleRef::BuiltIn(_) => self.tell(sk, info),
            ModuleRef::Loaded(_) => *info = self.info(sk),
        }
    }

    /// Reads the values of [`Module::variables`] into as many places; false where there are none at present. Of a loaded
    /// module it gets a copy of the socket, as [`Controller::read_info`].
    pub fn read_variables(&self, sk: &mut TcpSock, values: &mut [i64]) -> bool {
        let Some(variables) = self.module.raw_variables() else { return false };
        let Some(read) = variables.read else { return false };
        assert!(values.len() >= variables.n as usize, "a place for each variable");
        match self.module {
            // SAFETY: as for the hooks above; C writes n values.
            ModuleRef::BuiltIn(_) => unsafe { read(self.enter(sk), values.as_mut_ptr()) },
            ModuleRef::Loaded(_) => around(self.module.name(), "CCA_VARS", || {
                // SAFETY: as above.
                unsafe { read(self.enter(&mut sk.clone()), values.as_mut_ptr()) }
            }),
        }
    }

    /// The controller's estimates, of a socket that is shared.
    #[must_use]
    pub fn info(&self, sk: &TcpSock) -> CaInfo {
        let mut info = CaInfo::default();
        self.tell(&mut sk.clone(), &mut info);
        info
    }
}

/// What the flow's table keeps of the values of all parameters (a kernel module has them in variables of its own).
pub(crate) fn table(values: &[i64]) -> Vec<u32> {
    values.iter().map(|&v| v as u32).collect()
}

/// The value of each parameter of `module`: what `params` gives, else the default.
pub(crate) fn values(
    module: &Module,
    params: &BTreeMap<String, i64>,
) -> Result<Vec<i64>, ParamError> {
    values_as(module.name(), module, params)
}

/// As [`values`], for a module that has no name yet.
pub(crate) fn values_as(
    cca: &str,
    module: &Module,
    params: &BTreeMap<String, i64>,
) -> Result<Vec<i64>, ParamError> {
    let mut values = module.defaults();
    if params.is_empty() {
        return Ok(values);
    }
    let declared = module.params();
    for (name, &value) in params {
        let Some(index) = declared.iter().position(|p| p.name == name) else {
            return Err(unknown(cca, module, name));
        };
        let p = &declared[index];
        if !(p.min..=p.max).contains(&value) {
            return Err(ParamError::OutOfRange {
                cca: cca.to_owned(),
                name: name.clone(),
                value,
                min: p.min,
                max: p.max,
                unit: p.unit.to_owned(),
            });
        }
        values[index] = value;
    }
    Ok(values)
}

fn unknown(cca: &str, module: &Module, name: &str) -> ParamError {
    let valid: Vec<String> = module.params().iter().map(|p| p.name.to_owned()).collect();
    ParamError::Unknown { cca: cca.to_owned(), name: name.to_owned(), valid }
}
