//! What ends a process that runs a user's code, and how it says so: signals for what the processor refuses, a limit
//! for a call that does not return. The process has one thread and was made for one run ([`watch`]).

use std::ffi::{c_int, c_void, CStr};
use std::io;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use crate::raw::COPY;
use crate::running::{seconds, simulated, RUNNING};

/// Where reports go; -1: nowhere, a failure is printed.
static REPORT: AtomicI32 = AtomicI32::new(-1);
/// `Running::calls` at the last tick of the watchdog.
static CALLS_SEEN: AtomicU64 = AtomicU64::new(u64::MAX);
/// Ticks since that changed.
static TICKS: AtomicU64 = AtomicU64::new(0);

/// Processor time after which a call counts as one that does not return, s. Hooks take microseconds; the kernel's own
/// watchdog waits 20 s for a processor that may do other work.
const CALL_MAX_S: u64 = 3;
/// Room for signal handlers when the stack is used up, bytes.
const STACK_BYTES: usize = 64 << 10;
/// An access this near to the stack pointer, in a part of the stack that is not there, is one of the stack.
const STACK_NEAR: usize = 1 << 20;
/// Below here lies nothing: the first page and what a field of a NULL struct is away from it.
const NULL_PAGE: usize = 4096;
/// Exit status of a process that has reported.
const REPORTED: c_int = 70;
/// First byte of a report on the pipe, before its length as four bytes, the lowest first.
pub const REPORT_MARK: u8 = b'F';
/// Between the parts of a report.
const SEPARATOR: u8 = 0x1f;

/// What went wrong in a user's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What it does, as a predicate: "divides by zero".
    pub said: String,
    /// The controller; empty while its module starts.
    pub name: String,
    /// The hook, or `module_init` and its like; empty when none was ever called.
    pub hook: String,
    /// It happened in the hook; otherwise the hook was called last.
    pub is_inside: bool,
    /// Simulated time of the hook, ns.
    pub at_ns: Option<u64>,
    /// Place in the shared object, where it happened there.
    pub offset: Option<u64>,
}

impl Report {
    /// Reads what follows the mark and the length.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Report> {
        let parts: Vec<_> = bytes.split(|&b| b == SEPARATOR).map(String::from_utf8_lossy).collect();
        let [said, name, hook, inside, at, offset] = &parts[..] else { return None };
        Some(Report {
            said: said.to_string(),
            name: name.to_string(),
            hook: hook.to_string(),
            is_inside: inside == "1",
            at_ns: at.parse().ok(),
            offset: offset.parse().ok(),
        })
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at = self.at_ns.map(|ns| format!(" at {} s", seconds(ns))).unwrap_or_default();
        let name = if self.name.is_empty() { "the module" } else { &self.name };
        match (self.is_inside, self.hook.as_str()) {
            (_, "") => write!(f, "the run {}", self.said),
            (true, hook) => write!(f, "{name}: {hook}() {}{at}", self.said),
            (false, hook) => {
                write!(f, "the run {} after {hook}() of {name}{at}: a controller has probably written into memory that is not its own", self.said)
            }
        }
    }
}

/// From now on this process, which has one thread, reports to `fd` what ends it, and a call of the user's code that
/// does not return ends it.
///
/// # Errors
/// When the system refuses a signal handler.
pub fn watch(fd: c_int) -> io::Result<()> {
    REPORT.store(fd, Ordering::Relaxed);
    RUNNING.with(|running| running.calls.get());
    let stack = Box::leak(vec![0_u8; STACK_BYTES].into_boxed_slice());
    let stack =
        libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: STACK_BYTES };
    // SAFETY: the memory is this stack's for ever.
    done(unsafe { libc::sigaltstack(&stack, ptr::null_mut()) })?;
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT] {
        handle(signal, on_fault)?;
    }
    handle(libc::SIGVTALRM, on_tick)?;
    handle(libc::SIGALRM, on_idle)?;
    handle(libc::SIGSYS, on_refused)?;
    refuse_processes()?;
    let second = libc::timeval { tv_sec: 1, tv_usec: 0 };
    let every = libc::itimerval { it_interval: second, it_value: second };
    // SAFETY: a complete value.
    done(unsafe { libc::setitimer(libc::ITIMER_VIRTUAL, &every, ptr::null_mut()) })
}

fn done(code: c_int) -> io::Result<()> {
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

fn handle(signal: c_int, handler: Handler) -> io::Result<()> {
    // SAFETY: all zero is a value of this struct.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    // SAFETY: the handlers call only what a handler may call.
    done(unsafe { libc::sigaction(signal, &action, ptr::null_mut()) })
}

/// The user's code has done what its host cannot go on from: ends the process, or aborts it where nobody watches.
pub(crate) fn fail(said: &str) -> ! {
    if REPORT.load(Ordering::Relaxed) >= 0 {
        report(said.as_bytes(), 0);
    }
    let (name, hook) = RUNNING.with(|running| (running.name.get(), running.what.get()));
    eprintln!("{name}: {hook}() {said}");
    std::process::abort();
}

extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let (pc, sp) = registers(context);
    // SAFETY: the kernel gives a complete struct; the address is set for these two signals.
    let address = unsafe { (*info).si_addr() } as usize;
    let said: &[u8] = match signal {
        libc::SIGFPE => b"divides by zero",
        libc::SIGILL => {
            b"reaches an instruction that is none, as code that must not be reached ends in"
        }
        libc::SIGABRT => {
            b"was aborted, by a sanitizer or by a C library whose memory was overwritten"
        }
        _ if address < NULL_PAGE => b"follows a NULL pointer",
        _ if sp != 0 && address.abs_diff(sp) < STACK_NEAR => b"uses up the stack",
        _ => b"accesses memory that is not its own",
    };
    report(said, pc);
}

extern "C" fn on_tick(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    let (calls, is_inside) = RUNNING.with(|r| (r.calls.get(), r.is_inside.get()));
    if CALLS_SEEN.swap(calls, Ordering::Relaxed) != calls || !is_inside {
        TICKS.store(0, Ordering::Relaxed);
    } else if TICKS.fetch_add(1, Ordering::Relaxed) + 1 >= CALL_MAX_S {
        report(b"does not return: it has run for 3 s of processor time", registers(context).0);
    }
}

/// Whoever waits for this process has seen that it does nothing.
extern "C" fn on_idle(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    if RUNNING.with(|running| running.is_inside.get()) {
        report(
            b"waits, sleeps or stops itself: it has done nothing for 10 s",
            registers(context).0,
        );
    }
}

extern "C" fn on_refused(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    if RUNNING.with(|running| running.is_inside.get()) {
        report(
            b"starts another process or program, which a controller may not",
            registers(context).0,
        );
    }
}

/// Has the system refuse new processes and programs, by [`on_refused`]; threads may start. Where it has no filters
/// nothing is refused.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn refuse_processes() -> io::Result<()> {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const ANY_BIT: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
    const ANSWER: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    // Offsets in struct seccomp_data: the number of the call, and the lower half of its first argument.
    const NUMBER: u32 = 0;
    const FIRST: u32 = 16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let number = |call: libc::c_long, then, or| step(EQUAL, then, or, call as u32);
    #[cfg(target_arch = "x86_64")]
    let forks = [libc::SYS_fork, libc::SYS_vfork];
    #[cfg(target_arch = "aarch64")]
    let forks = [libc::SYS_execve, libc::SYS_execve];
    let mut program = [
        step(LOAD, 0, 0, NUMBER),
        number(libc::SYS_execve, 8, 0),
        number(libc::SYS_execveat, 7, 0),
        number(forks[0], 6, 0),
        number(forks[1], 5, 0),
        // Its flags are in memory, which a filter does not see; C libraries go on with clone().
        number(libc::SYS_clone3, 5, 0),
        number(libc::SYS_clone, 0, 2),
        step(LOAD, 0, 0, FIRST),
        step(ANY_BIT, 0, 1, libc::CLONE_THREAD as u32),
        step(ANSWER, 0, 0, libc::SECCOMP_RET_ALLOW),
        step(ANSWER, 0, 0, libc::SECCOMP_RET_TRAP),
        step(ANSWER, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: a flag of this process, and a complete filter, which the system copies.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &filter, 0, 0);
    }
    Ok(())
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn refuse_processes() -> io::Result<()> {
    Ok(())
}

/// Program counter and stack pointer at the signal; 0 where this is not known.
fn registers(context: *mut c_void) -> (usize, usize) {
    // SAFETY: the third argument of a handler is the context of the signal.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    unsafe {
        let registers = (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        (registers[libc::REG_RIP as usize] as usize, registers[libc::REG_RSP as usize] as usize)
    }
    // SAFETY: as above.
    #[cfg(all(target_os = "linux", target_arch = "aarch64"))]
    unsafe {
        let registers = &(*context.cast::<libc::ucontext_t>()).uc_mcontext;
        (registers.pc as usize, registers.sp as usize)
    }
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    {
        let _ = context;
        (0, 0)
    }
}

/// A report in the making, without memory of the heap.
struct Text {
    bytes: [u8; 768],
    len: usize,
}

impl Text {
    fn add(&mut self, part: &[u8]) {
        for &byte in part {
            if self.len < self.bytes.len() {
                self.bytes[self.len] = byte;
                self.len += 1;
            }
        }
    }

    fn number(&mut self, mut value: u64) {
        let (mut digits, mut n) = ([0_u8; 20], 20);
        while value > 0 || n == 20 {
            n -= 1;
            digits[n] = b'0' + (value % 10) as u8;
            value /= 10;
        }
        self.add(&digits[n..]);
    }
}

/// Writes the report and ends the process. Only what a signal handler may call.
fn report(said: &[u8], pc: usize) -> ! {
    let mut text = Text { bytes: [0; 768], len: 5 };
    RUNNING.with(|running| {
        for part in [said, running.name.get().as_bytes(), running.what.get().as_bytes()] {
            text.add(&part[..part.len().min(200)]);
            text.add(&[SEPARATOR]);
        }
        text.add(if running.is_inside.get() { b"1" } else { b"0" });
        text.add(&[SEPARATOR]);
        if let Some(ns) = simulated(running.clock.get()) {
            text.number(ns);
        }
        text.add(&[SEPARATOR]);
        if let Some(offset) = offset_in_copy(pc) {
            text.number(offset);
        }
    });
    text.bytes[0] = REPORT_MARK;
    text.bytes[1..5].copy_from_slice(&((text.len - 5) as u32).to_le_bytes());
    let mut rest = &text.bytes[..text.len];
    while !rest.is_empty() {
        // SAFETY: the bytes are there; the descriptor is a pipe.
        let n = unsafe {
            libc::write(REPORT.load(Ordering::Relaxed), rest.as_ptr().cast(), rest.len())
        };
        match usize::try_from(n) {
            Ok(n) => rest = &rest[n..],
            Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    // SAFETY: ends the process at once.
    unsafe { libc::_exit(REPORTED) }
}

/// How far a place is from the start of the shared object of a user's controller, where it is in one.
fn offset_in_copy(pc: usize) -> Option<u64> {
    // SAFETY: all zero is a value of this struct.
    let mut found: libc::Dl_info = unsafe { mem::zeroed() };
    // SAFETY: looks the address up in the list of shared objects, which nobody changes now.
    if pc == 0 || unsafe { libc::dladdr(pc as *const c_void, &mut found) } == 0 {
        return None;
    }
    // SAFETY: the linker's own name of the object.
    let path = unsafe { CStr::from_ptr(found.dli_fname) }.to_bytes();
    let name = path.rsplit(|&b| b == b'/').next()?;
    name.starts_with(COPY.as_bytes()).then(|| (pc - found.dli_fbase as usize) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_says_who_what_and_when() {
        let parsed =
            Report::parse(b"divides by zero\x1fmine\x1fcong_avoid\x1f1\x1f1234567890\x1f42");
        let parsed = parsed.expect("six parts");
        assert_eq!(parsed.to_string(), "mine: cong_avoid() divides by zero at 1.234567 s");
        assert_eq!(parsed.offset, Some(42));
        let outside =
            Report::parse(b"was aborted\x1fmine\x1finit\x1f0\x1f\x1f").expect("six parts");
        assert!(outside.to_string().starts_with("the run was aborted after init() of mine: a con"));
        let none = Report::parse(b"was aborted\x1f\x1f\x1f0\x1f\x1f").expect("six parts");
        assert_eq!(none.to_string(), "the run was aborted");
        assert_eq!(Report::parse(b"nothing"), None);
    }
}
