//! Memory that is needed soon is asked for before it is needed.
//!
//! The state of thousands of flows does not fit into a processor's cache, and an event would wait for each part of it in
//! turn. The event queue knows which events come next: while one runs, the memory of the ones after it is on its way.

/// Bytes that a processor fetches at once.
const LINE: usize = 64;

/// Asks for the memory of `value`, all of it, without waiting. It comes into the processor's second cache: what the next twenty
/// events need would drive out of the first what this one does. Nothing but time depends on it; where the processor has no
/// such instruction that Rust knows, it does nothing.
#[inline(always)]
pub fn fetch<T: ?Sized>(value: &T) {
    let (start, size) = (std::ptr::from_ref(value).cast::<u8>(), size_of_val(value));
    // Where it begins with a line, their number is known to the compiler.
    let before = if align_of_val(value) < LINE { start as usize % LINE } else { 0 };
    (0..(before + size).div_ceil(LINE)).for_each(|line| hint(start.wrapping_add(line * LINE)));
}

/// The same of its first cache line.
#[inline(always)]
pub fn fetch_line<T>(value: &T) {
    hint(std::ptr::from_ref(value).cast());
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn hint(at: *const u8) {
    use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T1};
    // SAFETY: a hint reads nothing that the program sees, and does not fail for any address.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(at.cast()) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn hint(_: *const u8) {}
