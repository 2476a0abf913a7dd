//! What stands in for the parts that need Unix: processes of compilers, shared objects, and the signals of a process that runs
//! a user's code. All of it refuses.

/// In place of the file `process.rs`.
pub(crate) mod process {
    use std::io;
    use std::path::Path;
    use std::process::Command;

    /// Whether to go on.
    pub type GoesOn<'a> = &'a mut dyn FnMut() -> bool;

    /// How a compiler ended.
    #[derive(Debug)]
    pub struct Said {
        /// It has done what it was asked for.
        pub is_good: bool,
        /// What it printed as errors.
        pub text: String,
    }

    fn refused() -> io::Error {
        io::Error::other("a C source cannot be compiled here, where no compiler can be started")
    }

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn read_source(_: &Path) -> io::Result<String> {
        Err(refused())
    }

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn run(_: Command, _: GoesOn<'_>) -> io::Result<Said> {
        Err(refused())
    }
}

/// In place of the file `library.rs`.
pub(crate) mod library {
    use crate::module::Module;
    use std::path::Path;

    /// A shared object that is not a controller.
    #[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
    pub enum LoadError {
        /// There are no shared objects.
        #[error("{path}: a shared object cannot be opened here, where there is no dynamic linker")]
        Open {
            /// The shared object.
            path: String,
        },
    }

    /// An open shared object; there is none.
    #[derive(Debug)]
    pub(crate) enum Library {}

    /// Which parameters to set, by position.
    pub(crate) type Values<'a> = &'a dyn Fn(&Module) -> Result<Vec<(u32, i64)>, String>;

    pub(crate) fn open(
        path: &Path,
        _: Option<&str>,
        _: String,
        _: u64,
        _: Values<'_>,
    ) -> Result<Module, LoadError> {
        Err(LoadError::Open { path: path.display().to_string() })
    }
}

/// In place of the file `watch.rs`.
pub(crate) mod watch {
    /// The user's code has done what its host cannot go on from.
    pub(crate) fn fail(said: &str) -> ! {
        panic!("a controller {said}")
    }
}
