//! Our controllers in the running kernel: `struct_ops` objects made of the same `cca/*.c` as the simulator's,
//! loaded into a stock Linux, found again, read and changed while sockets use them, and taken away.
//!
//! ```no_run
//! let params = [("loss_thresh".to_owned(), "10".to_owned())];
//! let bbr2 = bpf::load(&bpf::Object::find("bbr2")?, &params, bpf::Name::Own)?;
//! // Now any socket may ask for it: setsockopt(TCP_CONGESTION, "bbr2").
//! assert_eq!(bbr2.kernel_name(), "bbr2");
//! for socket in &bpf::status(Some("bbr2"))?[0].sockets {
//!     println!("{} {:?}", socket.remote, socket.estimates.state);
//! }
//! drop(bbr2); // gone; or bbr2.keep()?, and bpf::unload("bbr2")? some other day
//! # Ok::<(), bpf::Error>(())
//! ```

#![cfg(target_os = "linux")]

mod elf;
mod error;
mod flags;
mod load;
mod log;
mod netns;
mod object;
mod pins;
mod report;
mod sys;
mod table;

pub use error::Error;
pub use load::{load, Loaded, Name};
pub use object::Object;
pub use report::{Reader, Reading, Socket};
pub use table::Param;

use libbpf_rs::Link;
use pins::Entry;
use serde::Serialize;
use std::time::Duration;
use sys::Lock;

/// A controller that is loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    /// The name that its source gives it.
    pub name: String,
    /// What the kernel calls it.
    pub kernel_name: String,
    /// It stays when the process that loaded it ends.
    pub is_kept: bool,
    /// Parameters, with the values in force.
    pub params: Vec<Param>,
    /// Sockets that use it.
    pub sockets: Vec<Socket>,
    /// Network namespaces whose default it is; empty text: the caller's.
    pub default_of: Vec<String>,
}

impl Status {
    fn of(entry: Entry) -> Self {
        Self {
            sockets: report::sockets(&entry),
            default_of: netns::default_of(&entry.table.kernel_name),
            is_kept: entry.is_kept,
            name: entry.table.name,
            kernel_name: entry.table.kernel_name,
            params: entry.table.params,
        }
    }
}

/// Names of the controllers that are loaded, the source's and the kernel's, and whether they stay; needs no rights
/// where there are none.
///
/// # Errors
/// When there may be some, and the process may not look, or cannot from inside `ip netns exec`.
pub fn loaded() -> Result<Vec<(String, String, bool)>, Error> {
    if !sys::has_bpffs()? {
        return Ok(Vec::new());
    }
    sys::check_permission()?;
    let name = |entry: Entry| (entry.table.name, entry.table.kernel_name, entry.is_kept);
    Ok(Entry::all()?.into_iter().map(name).collect())
}

/// Names whose pins a process that was killed has left, until the next load; needs no rights where there are none.
#[must_use]
pub fn left_over() -> Vec<String> {
    if sys::is_bpffs() {
        pins::left_over()
    } else {
        Vec::new()
    }
}

/// The controllers that are loaded, or those of one name (the source's or the kernel's), with the sockets that use them.
///
/// # Errors
/// When the process may not look, or none of that name is loaded.
pub fn status(name: Option<&str>) -> Result<Vec<Status>, Error> {
    sys::check_permission()?;
    sys::has_bpffs()?;
    let entries = match name {
        Some(name) => Entry::named(name)?,
        None => Entry::all()?,
    };
    Ok(entries.into_iter().map(Status::of).collect())
}

/// Changes parameters of a loaded controller: all or, if one is refused, none. Its sockets obey from their next ACK.
///
/// # Errors
/// When the process may not, it is not loaded, or a parameter is refused.
pub fn set(name: &str, params: &[(String, String)]) -> Result<(), Error> {
    sys::check_permission()?;
    sys::has_bpffs()?;
    let entry = Entry::find(name)?;
    let _lock = Lock::take()?;
    entry.set(params)
}

/// Takes a controller away; what comes back is how things stood just before. Sockets that use it keep it, in the
/// kernel's memory only, until they close.
///
/// # Errors
/// When the process may not, it is not loaded, or another process holds it.
pub fn unload(name: &str) -> Result<Status, Error> {
    sys::check_permission()?;
    sys::has_bpffs()?;
    let entry = Entry::find(name)?;
    let _lock = Lock::take()?;
    if !entry.is_kept {
        return Err(Error::Held { name: entry.table.name });
    }
    let kernel_name = entry.table.kernel_name.clone();
    let status = Status::of(Entry::find(&kernel_name)?);
    // Without this the name goes a little later, when the kernel gets to it.
    let (_, _) = log::capture(|| Link::open(entry.link()).and_then(|link| link.detach()));
    entry.remove()?;
    wait_until_gone(&kernel_name);
    Ok(status)
}

/// The kernel frees a link some time after its last user is gone; a second at most on any machine that is alive.
fn wait_until_gone(kernel_name: &str) {
    for _ in 0..100 {
        if !sys::is_registered(kernel_name) {
            return;
        }
        #[allow(
            clippy::disallowed_methods,
            reason = "waits for the kernel, not for simulated time"
        )]
        std::thread::sleep(Duration::from_millis(10));
    }
}
