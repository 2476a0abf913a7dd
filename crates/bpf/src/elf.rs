//! Whether libelf and zlib are there, which libbpf reads objects with; `elf.c` finds them when they are needed.

use crate::Error;
use std::ffi::{c_char, CStr};

extern "C" {
    fn dumbbell_elf_missing() -> *const c_char;
}

/// # Errors
/// [`Error::Library`] when one of them cannot be loaded.
pub fn check() -> Result<(), Error> {
    // SAFETY: takes nothing, may be called by any thread, and returns null or a text that is never freed.
    let missing = unsafe { dumbbell_elf_missing() };
    if missing.is_null() {
        return Ok(());
    }
    // SAFETY: not null, so a terminated text that is never freed.
    let name = unsafe { CStr::from_ptr(missing) };
    Err(Error::Library { name: name.to_string_lossy().into_owned() })
}
