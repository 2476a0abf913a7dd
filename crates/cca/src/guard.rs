//! Stands between the engine and a loaded controller: each hook of such a one is called through a function of this
//! file, which notes who runs, for the report of what goes wrong ([`crate::watch`]), and looks at what it left behind.
//!
//! Built-in controllers are called directly.

use std::cell::{RefCell, UnsafeCell};
use std::ffi::c_void;
use std::mem::size_of;
use std::ptr::{self, NonNull};

use crate::raw::{interned, RawOps};
use crate::running::{seconds, simulated, RUNNING};
use crate::sample::{AckSample, CaInfo, LostBurst, RateSample};
use crate::sock::TcpSock;
use crate::watch;

/// A word behind the private state that nobody has a reason to write.
const CANARY: u64 = 0x5ca1_ab1e_0b5e_55ed;
/// Largest payload of a segment: IP counts 16 bits.
const MSS_MAX: u32 = 65_535;
/// Words of canary: enough to meet a field or a small array that lies past the end.
const CANARY_WORDS: usize = 16;
/// Words before the private state.
const HEAD_WORDS: usize = size_of::<Head>().div_ceil(size_of::<u64>());

/// What lies before the private state of a flow, where a hook's guard finds it by the socket.
#[repr(C)]
struct Head {
    ops: *const RawOps,
    name: &'static str,
    /// Words of private state.
    words: usize,
    /// Warnings of [`Odd`] that this flow has given.
    told: u32,
}

/// A flow's hooks and memory, where its controller was loaded.
pub(crate) struct Guarded {
    ops: Box<RawOps>,
    /// Head, private state, canary.
    memory: Box<[UnsafeCell<u64>]>,
}

impl Guarded {
    /// The hooks of the controller `name`, guarded, and cleared memory for one flow. `own` must outlive it.
    pub(crate) fn new(name: &str, own: &RawOps, words: usize) -> Guarded {
        let total = HEAD_WORDS + words + CANARY_WORDS;
        let memory: Box<[_]> = (0..total).map(|_| UnsafeCell::new(0)).collect();
        for word in &memory[HEAD_WORDS + words..] {
            // SAFETY: nobody else has it yet.
            unsafe { *word.get() = CANARY };
        }
        let head = Head { ops: ptr::from_ref(own), name: interned(name), words, told: 0 };
        // SAFETY: the first words are room for a head, aligned for it, and nobody else has them yet.
        unsafe { memory[0].get().cast::<Head>().write(head) };
        Guarded { ops: Box::new(guarded(own)), memory }
    }

    pub(crate) fn ops(&self) -> NonNull<RawOps> {
        NonNull::from(&*self.ops)
    }

    /// The private state.
    pub(crate) fn storage(&self) -> NonNull<c_void> {
        NonNull::from(&self.memory[HEAD_WORDS..]).cast()
    }
}

impl std::fmt::Debug for Guarded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Guarded")
    }
}

thread_local! {
    /// Warnings of this thread's run, each as (what is warned of, the text).
    static WARNINGS: RefCell<Vec<(String, String)>> = const { RefCell::new(Vec::new()) };
}

/// Runs the user's code that starts, stops or sets a module, and notes that.
pub(crate) fn around<T>(name: &str, what: &'static str, f: impl FnOnce() -> T) -> T {
    let name = interned(name);
    RUNNING.with(|running| running.begin(name, what, 0));
    let out = f();
    RUNNING.with(|running| running.is_inside.set(false));
    out
}

/// What a hook may leave behind that the kernel would warn of, or that stops a flow in silence.
#[derive(Clone, Copy)]
enum Odd {
    /// No window (`tcp_snd_cwnd_set` warns).
    NoWindow = 1,
    /// A burst of no segment.
    NoBurst = 2,
}

/// The controller's answer: is a burst of that size none at all?
trait Answer: Copy {
    fn is_zero(self) -> bool;
}

impl Answer for () {
    fn is_zero(self) -> bool {
        false
    }
}

impl Answer for u32 {
    fn is_zero(self) -> bool {
        self == 0
    }
}

/// The head of a socket's controller.
///
/// # Safety
/// `sk` is the argument of a hook in a table that [`guarded`] made: `Controller::enter` has just stored the address of
/// a [`Guarded`]'s private state in it.
unsafe fn head_of(sk: *mut TcpSock) -> *mut Head {
    // SAFETY: as promised by the caller.
    unsafe { (*sk).storage.cast::<u64>().sub(HEAD_WORDS).cast() }
}

/// Notes that a hook begins; gives the controller's head.
///
/// # Safety
/// As [`head_of`].
#[inline]
unsafe fn begin(sk: *mut TcpSock, what: &'static str) -> *mut Head {
    // SAFETY: as promised by the caller.
    let head = unsafe { head_of(sk) };
    // SAFETY: the head was written when the memory was made, and C has no pointer to it; the socket is exclusive.
    let (name, clock) = unsafe { ((*head).name, (*sk).tcp_clock_cache) };
    RUNNING.with(|running| running.begin(name, what, clock));
    head
}

/// Looks at what a hook has left behind.
///
/// # Safety
/// As [`head_of`], of which `head` comes.
#[inline]
unsafe fn end(sk: *mut TcpSock, head: *mut Head, what: &'static str, answer: impl Answer) {
    // SAFETY: as promised by the caller; a hook that has returned holds no pointer.
    let (sk, head) = unsafe { (&*sk, &mut *head) };
    // SAFETY: the memory has a canary behind the private state.
    let canary = unsafe {
        let end = ptr::from_mut(head).cast::<u64>().add(HEAD_WORDS + head.words);
        std::slice::from_raw_parts(end, CANARY_WORDS)
    };
    if canary.iter().any(|&word| word != CANARY) {
        watch::fail(&format!("writes past its {} bytes of private state", head.words * 8));
    }
    if sk.mss_cache == 0 || sk.mss_cache > MSS_MAX {
        watch::fail(&format!(
            "sets mss_cache to {}, which is TCP's own: wanted 1 to {MSS_MAX}",
            sk.mss_cache
        ));
    }
    if sk.snd_cwnd.wrapping_sub(1) as i32 <= -1 {
        odd(head, Odd::NoWindow, what, sk);
    }
    if answer.is_zero() && what.ends_with("tso_segs") {
        odd(head, Odd::NoBurst, what, sk);
    }
    RUNNING.with(|running| running.is_inside.set(false));
}

/// Warns once for a flow and a kind.
#[cold]
fn odd(head: &mut Head, kind: Odd, what: &str, sk: &TcpSock) {
    if head.told & kind as u32 != 0 {
        return;
    }
    head.told |= kind as u32;
    let said = match kind {
        Odd::NoWindow => format!("{what}() leaves snd_cwnd at {}", sk.snd_cwnd as i32),
        Odd::NoBurst => format!("{what}() answers 0 segments, so nothing may be sent"),
    };
    warn(&said);
}

/// Keeps a warning of the code that runs, once for each text.
pub(crate) fn warn(said: &str) {
    let text = RUNNING.with(|running| {
        let at = simulated(running.clock.get());
        let at = at.map(|ns| format!(", first at {} s", seconds(ns))).unwrap_or_default();
        format!("{}: {said}{at}", running.name.get())
    });
    WARNINGS.with_borrow_mut(|warnings| {
        if warnings.iter().all(|(what, _)| what != said) {
            warnings.push((said.to_owned(), text));
        }
    });
}

/// What loaded controllers gave reason to warn of in this thread since the last call, oldest first.
pub fn take_warnings() -> Vec<String> {
    WARNINGS.take().into_iter().map(|(_, text)| text).collect()
}

/// Defines the guard of each hook, and the table of the guards of those that a controller has.
macro_rules! guards {
    ($($hook:ident($($arg:ident: $type:ty),*) $(-> $out:ty)?;)*) => {
        $(
            /// # Safety
            /// `sk` is the socket of a flow whose hooks are in a table that [`guarded`] made, as [`head_of`] wants it,
            /// and the arguments are what the hook of that name takes in `cca/include/ops.h`.
            unsafe extern "C" fn $hook(sk: *mut TcpSock $(, $arg: $type)*) $(-> $out)? {
                // SAFETY: called through the table below only, by `Controller`; the table has this hook only
                // where the controller has it.
                unsafe {
                    let head = begin(sk, stringify!($hook));
                    let hook = (*(*head).ops).$hook.unwrap_unchecked();
                    let answer = hook(sk $(, $arg)*);
                    end(sk, head, stringify!($hook), answer);
                    answer
                }
            }
        )*

        fn guarded(own: &RawOps) -> RawOps {
            RawOps {
                $($hook: own.$hook.is_some().then_some($hook as _),)*
                name: own.name,
                flags: own.flags,
            }
        }
    };
}

guards! {
    ssthresh() -> u32;
    cong_avoid(ack: u32, acked: u32);
    set_state(new: u8);
    cwnd_event(event: u32);
    in_ack_event(flags: u32);
    pkts_acked(sample: *const AckSample);
    min_tso_segs() -> u32;
    cong_control(ack: u32, flag: i32, sample: *const RateSample);
    undo_cwnd() -> u32;
    sndbuf_expand() -> u32;
    init();
    release();
    info(info: *mut CaInfo);
    skb_marked_lost(burst: *const LostBurst);
    tso_segs(mss: u32) -> u32;
}
