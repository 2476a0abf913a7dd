//! Running without root: a user namespace in which the process may make network namespaces.

use crate::error::{EmuError, Tried};
use std::fs;
use std::io;

/// Moves this process into a user namespace of its own, where it is root and its files stay its own. It must
/// have no other thread yet.
///
/// # Errors
/// When the kernel does not allow it.
pub fn enter_user_namespace() -> Result<(), EmuError> {
    // SAFETY: these two only tell.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    // SAFETY: no memory is involved.
    let failed = unsafe { libc::unshare(libc::CLONE_NEWUSER) };
    let done = if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    done.tried(|| {
        "a user namespace (run as root, or allow them: sysctl kernel.unprivileged_userns_clone)"
            .into()
    })?;
    fs::write("/proc/self/setgroups", "deny").tried(|| "/proc/self/setgroups".into())?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1")).tried(|| "/proc/self/uid_map".into())?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1")).tried(|| "/proc/self/gid_map".into())
}
