//! Where a loaded controller is found again: a folder of pins for each, named as the kernel names it.
//!
//! ```text
//! /sys/fs/bpf/dumbbell/d_bbr2/link      holds it registered; not there when a process holds it
//!                             report    what to read for its sockets
//!                             module rows values states    its tables
//! ```
//!
//! A folder without `link` whose controller the kernel does not list was left by a process that was killed; it is
//! swept away by the next load or look.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::sys;
use crate::table::{Table, MODULE, ROWS, STATES, VALUES};
use crate::Error;

const FOLDER: &str = "/sys/fs/bpf/dumbbell";
pub(crate) const LINK: &str = "link";
pub(crate) const REPORT: &str = "report";
const VALUES_FILE: &str = "values";
/// Sections of an object, and the files that pin their maps.
pub(crate) const TABLES: [(&str, &str); 4] =
    [(MODULE, "module"), (ROWS, "rows"), (VALUES, VALUES_FILE), (STATES, "states")];

/// A controller's folder of pins, removed when dropped.
#[derive(Debug)]
pub(crate) struct Pins {
    folder: PathBuf,
}

impl Pins {
    /// An empty folder for this controller.
    pub(crate) fn create(kernel_name: &str) -> Result<Self, Error> {
        let folder = Path::new(FOLDER).join(kernel_name);
        let mut private = DirBuilder::new();
        private.mode(0o700);
        private
            .recursive(true)
            .create(FOLDER)
            .map_err(|e| Error::Bpffs(format!("{FOLDER}: {e}")))?;
        check_owner()?;
        private
            .recursive(false)
            .create(&folder)
            .map_err(|e| Error::Bpffs(format!("{}: {e}", folder.display())))?;
        Ok(Self { folder })
    }

    /// Is there one for this controller?
    pub(crate) fn exist(kernel_name: &str) -> bool {
        Path::new(FOLDER).join(kernel_name).exists()
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// Leaves them.
    pub(crate) fn stay(self) {
        std::mem::forget(self);
    }

    fn remove(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            fs::remove_file(entry?.path())?;
        }
        fs::remove_dir(&self.folder)?;
        // The last one out; others may still be in.
        drop(fs::remove_dir(FOLDER));
        Ok(())
    }
}

impl Drop for Pins {
    fn drop(&mut self) {
        // What cannot be removed now is swept away next time.
        drop(self.remove());
    }
}

/// A loaded controller as its pins show it.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) table: Table,
    /// It stays when the process that loaded it ends.
    pub(crate) is_kept: bool,
    folder: PathBuf,
}

impl Entry {
    /// Those that are loaded, by name; of one name that with its own before numbered ones.
    pub(crate) fn all() -> Result<Vec<Self>, Error> {
        let Ok(folders) = fs::read_dir(FOLDER) else { return Ok(Vec::new()) };
        check_owner()?;
        let mut entries: Vec<Self> =
            folders.flatten().filter_map(|folder| Self::read(folder.path())).collect();
        entries.sort_by_cached_key(|one| {
            (one.table.name.clone(), one.is_renamed(), one.table.kernel_name.clone())
        });
        Ok(entries)
    }

    /// The one of this name, the kernel's or, unless it is numbered and so somebody's own, the source's.
    pub(crate) fn find(name: &str) -> Result<Self, Error> {
        let mut all = Self::all()?;
        let is_it = |one: &Self| one.table.kernel_name == name || one.public_name() == name;
        match all.iter().position(is_it) {
            Some(at) => Ok(all.swap_remove(at)),
            None => Err(Self::none_of(name, &all)),
        }
    }

    /// All of this name, the kernel's or the source's, numbered ones too.
    pub(crate) fn named(name: &str) -> Result<Vec<Self>, Error> {
        let (found, others): (Vec<Self>, _) = Self::all()?
            .into_iter()
            .partition(|one| one.table.name == name || one.table.kernel_name == name);
        if found.is_empty() {
            return Err(Self::none_of(name, &others));
        }
        Ok(found)
    }

    fn none_of(name: &str, loaded: &[Self]) -> Error {
        let loaded = loaded.iter().map(|one| one.public_name().to_owned()).collect();
        Error::NotLoaded { name: name.to_owned(), loaded }
    }

    /// Its source's name; one that is registered under a number or another name has but the kernel's.
    fn public_name(&self) -> &str {
        if self.is_renamed() {
            &self.table.kernel_name
        } else {
            &self.table.name
        }
    }

    fn is_renamed(&self) -> bool {
        let own = [cca::kernel_name(&self.table.name), cca::prefixed_name(&self.table.name)];
        !own.contains(&self.table.kernel_name)
    }

    fn read(folder: PathBuf) -> Option<Self> {
        let [module, rows, values, states] = TABLES.map(|(_, file)| whole(&folder.join(file)));
        let table = Table::parse(&module, &rows, &values, &states)?;
        let is_kept = folder.join(LINK).exists();
        (is_kept || sys::is_registered(&table.kernel_name)).then_some(Self {
            table,
            is_kept,
            folder,
        })
    }

    /// What to read for its sockets.
    pub(crate) fn report(&self) -> PathBuf {
        self.folder.join(REPORT)
    }

    /// What to open to take it away.
    pub(crate) fn link(&self) -> PathBuf {
        self.folder.join(LINK)
    }

    /// Changes parameters under way; the hooks of each socket see them at the next ACK.
    pub(crate) fn set(&self, params: &[(String, String)]) -> Result<(), Error> {
        let path = self.folder.join(VALUES_FILE);
        let mut values = whole(&path);
        self.table.write(params, &mut values)?;
        let map = MapHandle::from_pinned_path(&path);
        map.and_then(|map| map.update(&0u32.to_ne_bytes(), &values, MapFlags::ANY)).map_err(|e| {
            let reason = e.to_string();
            Error::Load { name: self.table.name.clone(), doing: "setting parameters", reason }
        })
    }

    /// Removes the pins.
    pub(crate) fn remove(self) -> Result<(), Error> {
        let pins = Pins { folder: self.folder };
        let removed = pins.remove();
        removed.map_err(|e| Error::Bpffs(format!("{}: {e}", pins.folder.display())))
    }
}

/// Value of the only entry of a pinned map; nothing when there is no such map.
fn whole(path: &Path) -> Vec<u8> {
    if !path.exists() {
        return Vec::new();
    }
    let map = MapHandle::from_pinned_path(path);
    let value = map.and_then(|map| map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY));
    value.ok().flatten().unwrap_or_default()
}

/// Folders of pins that a process which was killed has left: nothing is registered under their names.
pub(crate) fn left_over() -> Vec<String> {
    let Ok(folders) = fs::read_dir(FOLDER) else { return Vec::new() };
    let names = folders.flatten().filter_map(|folder| folder.file_name().into_string().ok());
    let is_left = |name: &String| {
        !sys::is_registered(name) && !Path::new(FOLDER).join(name).join(LINK).exists()
    };
    let mut names: Vec<String> = names.filter(is_left).collect();
    names.sort();
    names
}

/// Removes what processes that were killed have left; the caller holds the lock.
pub(crate) fn sweep() -> Result<(), Error> {
    if Path::new(FOLDER).exists() {
        check_owner()?;
        for name in left_over() {
            drop(Pins { folder: Path::new(FOLDER).join(name) });
        }
    }
    Ok(())
}

/// Checks that nobody else can write into the folder: its writer decides what root takes for a controller's tables, and
/// where bpffs is mounted without a mode (1777) anybody can make that folder first.
fn check_owner() -> Result<(), Error> {
    let wrong = |what: String| {
        Err(Error::Bpffs(format!("{FOLDER}: {what}, wanted a folder of root's that nobody else may write (0700); look at it and remove it")))
    };
    let about = fs::symlink_metadata(FOLDER).map_err(|e| Error::Bpffs(format!("{FOLDER}: {e}")))?;
    if !about.is_dir() {
        return wrong("got something that is not a folder".into());
    }
    let me = rustix::process::geteuid().as_raw();
    if about.uid() != me {
        return wrong(format!("got one of user {}", about.uid()));
    }
    match about.mode() & 0o7777 {
        mode if mode & 0o022 != 0 => wrong(format!("got mode {mode:04o}")),
        0o700 => Ok(()),
        // As earlier versions made it: others could look, which is of no use to them.
        _ => fs::set_permissions(FOLDER, Permissions::from_mode(0o700))
            .map_err(|e| Error::Bpffs(format!("{FOLDER}: {e}"))),
    }
}
