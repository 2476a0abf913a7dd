//! The network namespaces of the machine: a controller is registered for all, sockets are listed for each.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;

use rustix::thread::{move_into_link_name_space, LinkNameSpaceType};

/// Where `ip netns add` keeps them.
const NAMED: &str = "/run/netns";
/// Which controller the sockets of a network namespace get that ask for none.
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// A network namespace.
#[derive(Debug)]
pub(crate) struct NetNs {
    /// Its name for `ip netns`, `pid N` when it has none; empty: that of this process.
    pub(crate) name: String,
    path: PathBuf,
}

impl NetNs {
    /// All that have a name or a process.
    pub(crate) fn all() -> Vec<Self> {
        let mut seen = Vec::new();
        let mut found = Vec::new();
        let mut add = |name: String, path: PathBuf| {
            // A process may have ended meanwhile.
            let Ok(about) = fs::metadata(&path) else { return };
            let identity = (about.dev(), about.ino());
            if !seen.contains(&identity) {
                seen.push(identity);
                found.push(Self { name, path });
            }
        };
        add(String::new(), PathBuf::from("/proc/thread-self/ns/net"));
        for name in names(Path::new(NAMED)) {
            let path = Path::new(NAMED).join(&name);
            add(name, path);
        }
        for pid in names(Path::new("/proc")) {
            if pid.bytes().all(|byte| byte.is_ascii_digit()) {
                let path = Path::new("/proc").join(&pid).join("ns/net");
                add(format!("pid {pid}"), path);
            }
        }
        found
    }

    /// Runs `work` in a thread that is in this namespace.
    pub(crate) fn within<T: Send>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        let file = File::open(&self.path)?;
        thread::scope(|scope| {
            let inside = scope.spawn(|| {
                // It moves this thread only, which ends here.
                move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
                work()
            });
            inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// Namespaces whose sockets get the controller unless they ask for another one.
pub(crate) fn default_of(kernel_name: &str) -> Vec<String> {
    where_default(kernel_name, || Ok(()))
}

/// Sets a controller as the default again where an earlier load of its name still is: Linux keeps the one that was
/// chosen, not its name. Tells the namespaces.
pub(crate) fn renew_default(kernel_name: &str) -> Vec<String> {
    where_default(kernel_name, || fs::write(DEFAULT, kernel_name))
}

/// The namespaces of which a controller of this name is the default, and in which `then` succeeds.
fn where_default(kernel_name: &str, then: impl Fn() -> io::Result<()> + Sync) -> Vec<String> {
    let is_one = |netns: &NetNs| {
        let done = netns.within(|| {
            let is_default = fs::read_to_string(DEFAULT)?.trim() == kernel_name;
            if is_default {
                then()?;
            }
            Ok(is_default)
        });
        done.unwrap_or(false)
    };
    NetNs::all().into_iter().filter(is_one).map(|netns| netns.name).collect()
}

/// The name for `ip netns` of the namespace that this process is in, if it has one.
pub(crate) fn own_name() -> Option<String> {
    let identity = |path: &Path| fs::metadata(path).map(|about| (about.dev(), about.ino())).ok();
    let own = identity(Path::new("/proc/self/ns/net"))?;
    names(Path::new(NAMED))
        .into_iter()
        .find(|name| identity(&Path::new(NAMED).join(name)) == Some(own))
}

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}
