//! Network namespaces without a name: the kernel removes one, with everything in it, when its last file is closed and
//! its last process has ended, so nothing is left however a run ends. And the user namespace in which a process without
//! root may make them.

use crate::{Context, EmuError};
use rustix::process::{getegid, geteuid, set_parent_process_death_signal, Signal};
use rustix::thread::{move_into_link_name_space, unshare_unsafe, LinkNameSpaceType, UnshareFlags};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::thread;

/// Size of a namespace's own table of connections. Listing its sockets walks the whole table, and that of the
/// machine has a slot for each 32 KiB of its memory: 262144 slots take 0.14 ms by inet_diag and 0.35 ms by BPF at every
/// sample, 4096 take 3 and 17 us.
const SOCKETS: &str = "4096";

/// A network namespace of this run.
#[derive(Debug)]
pub struct NetNs {
    file: File,
}

impl NetNs {
    /// A new namespace with nothing in it but its loopback.
    ///
    /// # Errors
    /// When the process may not make one.
    pub fn new() -> Result<NetNs, EmuError> {
        let made = thread::spawn(|| {
            unshare_network()?;
            // The size for this one's children; without it (before Linux 6.2) they share the machine's table.
            if fs::write(parameter("net.ipv4.tcp_child_ehash_entries"), SOCKETS).is_ok() {
                unshare_network()?;
            }
            File::open("/proc/thread-self/ns/net")
        });
        let file = made.join().expect("making a namespace does not panic");
        let what = "a network namespace (needs root, or a user namespace of one's own)";
        Ok(NetNs { file: file.context(|| what.into())? })
    }

    /// Runs `work` in a thread that is in this namespace.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        thread::scope(|scope| {
            let inside = scope.spawn(move || {
                self.enter()?;
                work()
            });
            inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Moves this thread into it, for good.
    pub fn enter(&self) -> io::Result<()> {
        enter(self.file.as_fd())
    }

    /// Another handle on the same namespace.
    pub fn try_clone(&self) -> io::Result<NetNs> {
        Ok(NetNs { file: self.file.try_clone()? })
    }

    /// A command whose process will be in this namespace, and is killed when this process ends.
    pub fn command(&self, program: &str) -> Command {
        let fd = self.file.as_raw_fd();
        let mut command = Command::new(program);
        // SAFETY: between fork and exec only system calls are made, on values that are copied here; the file is open
        // in the child because the caller holds `self` until the command has started.
        unsafe {
            command.pre_exec(move || {
                enter(BorrowedFd::borrow_raw(fd))?;
                Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
            });
        }
        command
    }

    /// Runs a program to its end and returns what it printed.
    ///
    /// # Errors
    /// When it cannot be started or fails.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Result<String, EmuError> {
        let mut command = self.command(program);
        command.args(arguments).stdin(Stdio::null());
        let done = command.output().context(|| program.to_string())?;
        printed(program, arguments, &done)
    }

    /// Writes a kernel parameter of this namespace.
    pub fn set(&self, name: &str, value: &str) -> Result<(), EmuError> {
        let path = parameter(name);
        self.within(|| fs::write(&path, value)).context(|| format!("{name} = {value}"))
    }

    /// Reads a kernel parameter; `None` where the kernel has none of this name.
    pub fn read(&self, name: &str) -> Option<String> {
        let path = parameter(name);
        let text = self.within(|| fs::read_to_string(&path)).ok()?;
        Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

/// Moves this thread, which must end soon, into a namespace of its own.
fn unshare_network() -> rustix::io::Result<()> {
    // SAFETY: file descriptors stay shared; only this thread moves.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }
}

fn enter(namespace: BorrowedFd<'_>) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace, Some(LinkNameSpaceType::Network))?)
}

fn parameter(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}

fn printed(program: &str, arguments: &[&str], done: &Output) -> Result<String, EmuError> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_string();
    if done.status.success() {
        return Ok(text(&done.stdout));
    }
    let program = format!("{program} {}", arguments.join(" "));
    let said = format!("{} {}", text(&done.stderr), done.status);
    Err(EmuError::Program { program, said })
}

/// Moves this process into a user namespace of its own, where it is root and its files stay its own. It must
/// have no other thread yet.
///
/// # Errors
/// When the kernel does not allow it.
pub fn enter_user_namespace() -> Result<(), EmuError> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    // SAFETY: file descriptors stay shared.
    let done = unsafe { unshare_unsafe(UnshareFlags::NEWUSER) };
    done.context(|| {
        "a user namespace (run as root, or allow them: sysctl kernel.unprivileged_userns_clone)"
            .into()
    })?;
    let write = |path: &str, text: String| fs::write(path, text).context(|| path.into());
    write("/proc/self/setgroups", "deny".into())?;
    write("/proc/self/uid_map", format!("0 {user} 1"))?;
    write("/proc/self/gid_map", format!("0 {group} 1"))
}
