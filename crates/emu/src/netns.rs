//! Network namespaces without a name: the kernel removes one, with all that is in it, when the last file
//! and the last process in it are gone, so nothing is left however a run ends.

use crate::error::{EmuError, Tried};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::thread;

/// Size of a namespace's own table of connections. Whoever lists its sockets walks the whole table, and that of the
/// machine has a place for each 32 KiB of its memory: 262144 places take 0.14 ms by inet_diag and 0.35 ms by BPF at every
/// sample, 4096 take 3 and 17 us.
const SOCKETS: &str = "4096";

/// A network namespace of this run.
#[derive(Debug)]
pub struct NetNs {
    file: File,
}

impl NetNs {
    /// A new one with nothing in it but its loopback.
    ///
    /// # Errors
    /// When the process may not.
    pub fn new() -> Result<NetNs, EmuError> {
        let made = thread::spawn(|| {
            unshare()?;
            // What this one's children get; without it (before Linux 6.2) they share the machine's.
            if std::fs::write(parameter("net.ipv4.tcp_child_ehash_entries"), SOCKETS).is_ok() {
                unshare()?;
            }
            File::open("/proc/thread-self/ns/net")
        });
        let file = made.join().expect("making a namespace does not panic");
        let what = "a network namespace (needs root, or a user namespace of one's own)";
        Ok(NetNs { file: file.tried(|| what.into())? })
    }

    /// Runs `work` in a thread that is in this namespace.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        let fd = self.file.as_raw_fd();
        thread::scope(|scope| {
            let inside = scope.spawn(move || {
                enter(fd)?;
                work()
            });
            inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Moves this thread into it, for good.
    pub fn enter(&self) -> io::Result<()> {
        enter(self.file.as_raw_fd())
    }

    /// The same namespace.
    pub fn again(&self) -> io::Result<NetNs> {
        Ok(NetNs { file: self.file.try_clone()? })
    }

    /// A command whose process will be in this namespace and die with this one.
    pub fn command(&self, program: &str) -> Command {
        let fd = self.file.as_raw_fd();
        let mut command = Command::new(program);
        // SAFETY: between fork and exec only system calls are made, on values that are copied here.
        unsafe {
            command.pre_exec(move || {
                enter(fd)?;
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
        command
    }

    /// Runs a program to its end and tells what it printed.
    ///
    /// # Errors
    /// When it cannot be started or fails.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Result<String, EmuError> {
        let mut command = self.command(program);
        command.args(arguments).stdin(Stdio::null());
        let done = command.output().tried(|| program.to_string())?;
        told(program, arguments, &done)
    }

    /// Writes a kernel parameter of this namespace.
    pub fn set(&self, name: &str, value: &str) -> Result<(), EmuError> {
        let path = parameter(name);
        self.within(|| std::fs::write(&path, value)).tried(|| format!("{name} = {value}"))
    }

    /// Reads one; `None` where the kernel has none of this name.
    pub fn read(&self, name: &str) -> Option<String> {
        let path = parameter(name);
        let text = self.within(|| std::fs::read_to_string(&path)).ok()?;
        Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

/// Moves this thread, which is to end soon, into a namespace of its own.
fn unshare() -> io::Result<()> {
    // SAFETY: no memory is involved; it concerns this thread only.
    match unsafe { libc::unshare(libc::CLONE_NEWNET) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn parameter(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}

fn told(program: &str, arguments: &[&str], done: &Output) -> Result<String, EmuError> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_string();
    if done.status.success() {
        return Ok(text(&done.stdout));
    }
    let program = format!("{program} {}", arguments.join(" "));
    let said = format!("{} {}", text(&done.stderr), done.status);
    Err(EmuError::Program { program, said })
}

fn enter(namespace: RawFd) -> io::Result<()> {
    // SAFETY: an open namespace file; it moves this thread only.
    match unsafe { libc::setns(namespace, libc::CLONE_NEWNET) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
