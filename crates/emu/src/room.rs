//! Where the commands of a path run: a process namespace, whose first process takes all others with it when it ends. It
//! ends with this process however that ends, so that nothing is left, in the foreground or the background.
//!
//! A thread of its own enters the namespace and starts everything in it. The first process only waits: the kernel hands
//! it the processes whose parents have ended, and forgets them when they end too, because it ignores SIGCHLD.

use crate::error::{EmuError, Tried};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// The first process of the namespace that the calling thread has entered.
#[derive(Debug)]
pub struct Room {
    first: libc::pid_t,
    /// Its other end is the first process's, which ends when this is closed.
    _alive: OwnedFd,
}

impl Room {
    /// Moves what the calling thread, which is to end soon, starts from now on into a process namespace.
    ///
    /// # Errors
    /// When the process may not.
    pub fn enter() -> Result<Room, EmuError> {
        let what = || "a process namespace (needs root, or a user namespace of one's own)".into();
        // SAFETY: no memory is involved; it concerns this thread only.
        let failed = unsafe { libc::unshare(libc::CLONE_NEWPID | libc::CLONE_NEWNS) };
        let entered = if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
        entered.tried(what)?;
        let (theirs, ours) = pipe().tried(what)?;
        let (ready, told) = pipe().tried(what)?;
        // SAFETY: the child makes system calls only, on values that are its own.
        let first = unsafe { libc::fork() };
        match first {
            -1 => Err(io::Error::last_os_error()).tried(what),
            0 => wait_for_the_end(theirs.as_raw_fd(), told.as_raw_fd()),
            _ => {
                drop(told);
                // It has closed its end without a word when it has mounted what it could.
                let mut byte = 0u8;
                // SAFETY: room for a byte.
                unsafe { libc::read(ready.as_raw_fd(), (&raw mut byte).cast(), 1) };
                Ok(Room { first, _alive: ours })
            }
        }
    }
}

impl Drop for Room {
    /// Ends what is left in it.
    fn drop(&mut self) {
        // SAFETY: a child that has not been waited for; both fail only for one that has ended.
        unsafe {
            libc::kill(self.first, libc::SIGKILL);
            libc::waitpid(self.first, std::ptr::null_mut(), 0);
        }
    }
}

/// A pipe that programs do not inherit: what is read, what is written.
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends: [RawFd; 2] = [0; 2];
    // SAFETY: room for both ends, which are open and nobody else's when it succeeds.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

/// The life of the first process: it holds nothing but the end of a pipe whose other end is its parent's.
fn wait_for_the_end(alive: RawFd, told: RawFd) -> ! {
    // SAFETY: a child of one thread, in which only system calls are made.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::prctl(libc::PR_SET_NAME, c"dumbbell-first".as_ptr());
        let mut all = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
        // Nobody outside sees what is mounted here; what others mount later is still seen here.
        let none = std::ptr::null();
        libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_SLAVE, none.cast());
        // So that `ps` and `pkill` mean the processes of this namespace. Where that is not allowed they show the outer's.
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), flags, none.cast());
        libc::dup2(alive, 0);
        libc::dup2(told, 1);
        libc::syscall(libc::SYS_close_range, 2, u32::MAX, 0);
        libc::close(1);
        let mut byte = 0u8;
        while libc::read(0, (&raw mut byte).cast(), 1) < 0 {}
        libc::_exit(0)
    }
}

/// Signals by which people end or stir a command.
const PASSED_ON: [libc::c_int; 6] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2];
/// The process that gets them; 0: none.
static COMMAND: AtomicI32 = AtomicI32::new(0);

/// While this lives, signals that somebody sends to this process alone go on to a command. A terminal's (Ctrl-C) reach both
/// at once, so these do not.
pub struct PassedOn {
    before: Vec<(libc::c_int, libc::sigaction)>,
}

impl PassedOn {
    pub fn to(process: u32) -> PassedOn {
        COMMAND.store(process as i32, Relaxed);
        // SAFETY: an all-zero sigaction is one; the handler makes one system call.
        let before = PASSED_ON.map(|signal| unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = pass_on as extern "C" fn(_, _, _) as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, &action, &mut before);
            (signal, before)
        });
        PassedOn { before: before.into() }
    }
}

impl Drop for PassedOn {
    fn drop(&mut self) {
        COMMAND.store(0, Relaxed);
        for (signal, before) in &self.before {
            // SAFETY: the disposition that was there.
            unsafe { libc::sigaction(*signal, before, std::ptr::null_mut()) };
        }
    }
}

extern "C" fn pass_on(signal: libc::c_int, about: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let command = COMMAND.load(Relaxed);
    // SAFETY: the kernel gives what it says of the signal; a number that is the command's until it is waited for.
    unsafe {
        if command > 0 && (*about).si_code <= 0 {
            libc::kill(command, signal);
        }
    }
}
