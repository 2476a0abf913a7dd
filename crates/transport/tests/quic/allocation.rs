//! In steady state nothing is allocated per packet: a counting allocator watches.

use crate::line::{at_s, Line};
use crate::pair::Setup;
use cca::Module;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use transport::quic::Config;
use units::Span;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting for each thread.
struct Counting;

fn count() {
    // A thread that is ending has no counter any more, and nobody reads it.
    let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
}

// SAFETY: every call goes to `System` unchanged; the counter neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Rings that may double once more after a new largest window: packets, losses to repair, stream bits,
/// arrivals and the two pipes, twice each.
const RING_GROWTH_MAX: u64 = 12;

#[test]
fn nothing_is_allocated_per_packet() {
    for module in Module::all() {
        let setup = Setup {
            cca: module.name(),
            config: Config::default(),
            segments: u32::MAX,
            one_way: Span::from_ms(10),
            serialization: Span::from_us(100),
            buffer: 200,
        };
        let mut line = Line::new(setup);
        let is_lost = |number: u32| number % 5_000 == 4_999;
        line.drive(at_s(13), is_lost);
        let before = (ALLOCATIONS.get(), line.packets);
        line.drive(at_s(30), is_lost);
        let (allocations, packets) = (ALLOCATIONS.get() - before.0, line.packets - before.1);
        let what = format!("{}: {allocations}/{packets}", module.name());
        assert!(packets > 50_000, "no steady state: {what}");
        assert!(allocations <= RING_GROWTH_MAX, "allocations per packets: {what}");
    }
}

#[test]
fn the_counter_counts() {
    let before = ALLOCATIONS.get();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(ALLOCATIONS.get(), before + 1);
}
