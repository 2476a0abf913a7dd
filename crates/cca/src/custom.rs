//! Controllers that are Rust values: how a host language takes part. The transport calls them as any
//! other controller, through a table of hooks.

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::ptr;

use crate::module::{Module, RawModule};
use crate::raw::RawOps;
use crate::sample::RateSample;
use crate::sock::TcpSock;

/// A controller for one flow. It sets `snd_cwnd` and `sk_pacing_rate` of the socket itself, as a kernel
/// controller with `cong_control` does.
pub trait Custom: Send {
    /// The connection is established.
    fn init(&mut self, sk: &mut TcpSock);
    /// Last step of each ACK.
    fn on_ack(&mut self, sk: &mut TcpSock, sample: &RateSample);
    /// Loss recovery is about to enter `state` (a [`crate::CaState`] as a number).
    fn set_state(&mut self, sk: &mut TcpSock, state: u8);
}

impl std::fmt::Debug for dyn Custom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Custom")
    }
}

/// Makes a controller for a flow with these parameters, or says why not.
pub type CustomMaker =
    Box<dyn Fn(&BTreeMap<String, i64>) -> Result<Box<dyn Custom>, String> + Send + Sync>;

/// The controller of a socket.
///
/// # Safety
/// `sk` comes from a [`crate::Controller`] that was made by `Controller::custom`.
unsafe fn of<'a>(sk: *mut TcpSock) -> (&'a mut dyn Custom, &'a mut TcpSock) {
    // SAFETY: `Controller::enter` has just stored the address of its Box<dyn Custom>, which nobody else
    // uses during the call; the socket is exclusive.
    unsafe {
        let sk = &mut *sk;
        let custom = &mut *sk.storage.cast::<Box<dyn Custom>>();
        (&mut **custom, sk)
    }
}

/// # Safety
/// As [`of`].
unsafe extern "C" fn init(sk: *mut TcpSock) {
    // SAFETY: called through the table below only.
    let (custom, sk) = unsafe { of(sk) };
    custom.init(sk);
}

/// # Safety
/// As [`of`]; `rs` points to a sample that nobody changes meanwhile.
unsafe extern "C" fn cong_control(sk: *mut TcpSock, _: u32, _: i32, rs: *const RateSample) {
    // SAFETY: as above; the sample is valid during the call.
    let ((custom, sk), rs) = unsafe { (of(sk), &*rs) };
    custom.on_ack(sk, rs);
}

/// # Safety
/// As [`of`].
unsafe extern "C" fn set_state(sk: *mut TcpSock, state: u8) {
    // SAFETY: as above.
    let (custom, sk) = unsafe { of(sk) };
    custom.set_state(sk, state);
}

/// With `cong_control` the threshold only ends slow start, which such a controller does not have.
///
/// # Safety
/// `sk` is a valid socket.
unsafe extern "C" fn ssthresh(sk: *mut TcpSock) -> u32 {
    // SAFETY: the socket is valid during the call.
    unsafe { (*sk).snd_ssthresh }
}

/// # Safety
/// `sk` is a valid socket.
unsafe extern "C" fn undo_cwnd(sk: *mut TcpSock) -> u32 {
    // SAFETY: the socket is valid during the call.
    unsafe { (*sk).snd_cwnd.max((*sk).prior_cwnd) }
}

/// A module without parameters whose hooks call the flow's [`Custom`].
pub(crate) fn module(name: &str) -> Module {
    let ops = Box::leak(Box::new(RawOps {
        ssthresh: Some(ssthresh),
        set_state: Some(set_state),
        cong_control: Some(cong_control),
        undo_cwnd: Some(undo_cwnd),
        init: Some(init),
        name: c_name(name),
        ..RawOps::NONE
    }));
    let raw = Box::leak(Box::new(RawModule::describing(ops)));
    // SAFETY: both live for ever: a hundred bytes per run and controller are not worth counting.
    unsafe { Module::loaded(raw, String::new(), None) }
}

/// The name as C has it, cut to 15 bytes.
fn c_name(name: &str) -> [c_char; 16] {
    let mut out = [0; 16];
    for (to, from) in out.iter_mut().take(15).zip(name.bytes()) {
        *to = from as c_char;
    }
    out
}

impl RawOps {
    /// No hook at all.
    pub(crate) const NONE: Self = Self {
        ssthresh: None,
        cong_avoid: None,
        set_state: None,
        cwnd_event: None,
        in_ack_event: None,
        pkts_acked: None,
        min_tso_segs: None,
        cong_control: None,
        undo_cwnd: None,
        sndbuf_expand: None,
        name: [0; 16],
        flags: 0,
        init: None,
        release: None,
        info: None,
        skb_marked_lost: None,
        tso_segs: None,
    };
}

impl RawModule {
    /// A module with these hooks and nothing else.
    fn describing(ops: &'static RawOps) -> Self {
        Self {
            ops,
            params: ptr::null(),
            states: ptr::null(),
            license: c"".as_ptr(),
            presets: ptr::null(),
            variables: ptr::null(),
            n_params: 0,
            n_states: 0,
            priv_bytes: 0,
            is_large: 0,
        }
    }
}
