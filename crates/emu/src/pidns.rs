//! The process namespace in which the commands of a path run: its first process takes all others with it when it ends,
//! and it ends with this process however that ends, so that nothing is left, in the foreground or the background.
//!
//! A thread of its own enters the namespace and starts everything in it. The first process only waits: the kernel hands
//! it the processes whose parents have ended, and removes them when they end too, because it ignores SIGCHLD.

use crate::{Context, EmuError};
use rustix::mount::{mount, mount_change, MountFlags, MountPropagationFlags};
use rustix::pipe::{pipe_with, PipeFlags};
use rustix::process::{
    kill_process, set_parent_process_death_signal, waitpid, Pid, Signal, WaitOptions,
};
use rustix::thread::{set_name, unshare_unsafe, UnshareFlags};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, Ordering::SeqCst};

/// A process namespace, by its first process.
#[derive(Debug)]
pub struct PidNs {
    first: Pid,
    /// The first process has the other end of this pipe, and ends when this end is closed.
    _alive: OwnedFd,
}

impl PidNs {
    /// Moves what the calling thread, which must end soon, starts from now on into a process namespace.
    ///
    /// # Errors
    /// When the process may not make one.
    pub fn enter() -> Result<PidNs, EmuError> {
        PidNs::fork_first()
            .context(|| "a process namespace (needs root, or a user namespace of one's own)".into())
    }

    fn fork_first() -> io::Result<PidNs> {
        // SAFETY: file descriptors stay shared; it concerns this thread only.
        unsafe { unshare_unsafe(UnshareFlags::NEWPID | UnshareFlags::NEWNS)? };
        let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
        let (ready, is_ready) = pipe_with(PipeFlags::CLOEXEC)?;
        // SAFETY: the child makes system calls only, on values that are its own.
        match unsafe { libc::fork() } {
            0 => first_process(theirs.as_raw_fd(), is_ready.as_raw_fd()),
            child => {
                let first = Pid::from_raw(child.max(0)).ok_or_else(io::Error::last_os_error)?;
                drop(is_ready);
                // The child closes its end, without a byte, when it has mounted what it could.
                let _ = File::from(ready).read(&mut [0]);
                Ok(PidNs { first, _alive: ours })
            }
        }
    }
}

impl Drop for PidNs {
    /// Ends what is left in it.
    fn drop(&mut self) {
        // Both fail only for a process that has ended.
        let _ = kill_process(self.first, Signal::KILL);
        let _ = waitpid(Some(self.first), WaitOptions::empty());
    }
}

/// Body of the first process: it keeps nothing but the end of a pipe whose other end is its parent's.
fn first_process(alive: RawFd, is_ready: RawFd) -> ! {
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let _ = set_name(c"dumbbell-first");
    // SAFETY: a child of one thread, in which only system calls are made.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
    }
    // Nobody outside sees what is mounted here; what others mount later is still seen here.
    let _ = mount_change(c"/", MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM);
    // So that `ps` and `pkill` see the processes of this namespace. Where that is not allowed they see the outer ones.
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let _ = mount(c"proc", c"/proc", c"proc", flags, None);
    // SAFETY: as above.
    unsafe {
        libc::dup2(alive, 0);
        libc::dup2(is_ready, 1);
        libc::syscall(libc::SYS_close_range, 2, u32::MAX, 0);
        libc::close(1);
        let mut byte = 0u8;
        while libc::read(0, (&raw mut byte).cast(), 1) < 0 {}
        libc::_exit(0)
    }
}

/// Signals by which people end or control a command.
const FORWARDED: [libc::c_int; 6] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2];
/// The process that gets them; 0: none yet.
static COMMAND: AtomicI32 = AtomicI32::new(0);
/// The last signal that came before there was one; 0: none.
static EARLY: AtomicI32 = AtomicI32::new(0);

/// While this lives, signals that are sent to this process alone go on to a command. Those of a terminal (Ctrl-C) reach
/// both at once and are not forwarded. One that comes before the command has started goes to it then.
#[derive(Debug)]
pub struct SignalForwarding {
    before: Vec<(libc::c_int, libc::sigaction)>,
}

impl SignalForwarding {
    /// Keeps signals for the command that is to start.
    #[must_use]
    pub fn begin() -> SignalForwarding {
        EARLY.store(0, SeqCst);
        // SAFETY: an all-zero sigaction is a value; the handler makes one system call.
        let before = FORWARDED.map(|signal| unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = forward as extern "C" fn(_, _, _) as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, &action, &mut before);
            (signal, before)
        });
        SignalForwarding { before: before.into() }
    }

    /// The command has started: it executes its program, because its handlers up to then were those of this process.
    pub(crate) fn to(&self, process: u32) {
        COMMAND.store(process as i32, SeqCst);
        let early = EARLY.swap(0, SeqCst);
        if early > 0 {
            // SAFETY: the number is the command's until it is waited for.
            unsafe { libc::kill(process as i32, early) };
        }
    }

    /// The command has ended.
    pub(crate) fn end(&self) {
        COMMAND.store(0, SeqCst);
    }
}

impl Drop for SignalForwarding {
    fn drop(&mut self) {
        self.end();
        for (signal, before) in &self.before {
            // SAFETY: the disposition that was there before.
            unsafe { libc::sigaction(*signal, before, std::ptr::null_mut()) };
        }
    }
}

extern "C" fn forward(signal: libc::c_int, about: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let command = COMMAND.load(SeqCst);
    if command == 0 {
        return EARLY.store(signal, SeqCst);
    }
    // SAFETY: the kernel describes the signal; the number is the command's until it is waited for.
    unsafe {
        if (*about).si_code <= 0 {
            libc::kill(command, signal);
        }
    }
}
