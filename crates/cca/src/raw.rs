//! What C hands over: a controller's hooks, and texts.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{c_char, CStr};

use crate::sample::{AckSample, CaInfo, LostBurst, RateSample};
use crate::sock::TcpSock;

/// What the names of copies of shared objects begin with.
#[cfg(unix)]
pub(crate) const COPY: &str = ".copy-";

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
    pub name: [c_char; 16],
    pub flags: u32,
    pub init: Option<unsafe extern "C" fn(*mut TcpSock)>,
    pub release: Option<unsafe extern "C" fn(*mut TcpSock)>,
    pub info: Option<unsafe extern "C" fn(*mut TcpSock, *mut CaInfo)>,
    pub skb_marked_lost: Option<unsafe extern "C" fn(*mut TcpSock, *const LostBurst)>,
    pub tso_segs: Option<unsafe extern "C" fn(*mut TcpSock, u32) -> u32>,
}

/// A C string literal of the controllers as text; as far as it is UTF-8 where a user wrote it.
pub(crate) fn text<'a>(s: *const c_char) -> &'a str {
    // SAFETY: every string of the modules is a literal: terminated, immutable, as long-lived as the
    // library that it is in, which every caller borrows.
    let s = unsafe { CStr::from_ptr(s) };
    s.to_str().unwrap_or_else(|e| {
        std::str::from_utf8(&s.to_bytes()[..e.valid_up_to()]).unwrap_or_default()
    })
}

/// `name` for ever: records keep the names of states after the module that has them is closed. Each thread has a set of
/// its own, so that a process forked by one need not wait for another.
pub fn interned(name: &str) -> &'static str {
    thread_local! {
        static NAMES: RefCell<BTreeSet<&'static str>> = const { RefCell::new(BTreeSet::new()) };
    }
    NAMES.with_borrow_mut(|names| {
        if let Some(known) = names.get(name) {
            return *known;
        }
        let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
        names.insert(kept);
        kept
    })
}
