//! In steady state nothing is allocated per packet: a counting allocator watches.

use crate::counting::counted;
use crate::line::{at_s, Line};
use crate::pair::Setup;
use cca::Module;
use transport::quic::Config;
use units::Span;

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
        let before = (counted(), line.packets);
        line.drive(at_s(30), is_lost);
        let (allocations, packets) = (counted() - before.0, line.packets - before.1);
        let what = format!("{}: {allocations}/{packets}", module.name());
        assert!(packets > 50_000, "no steady state: {what}");
        assert!(allocations <= RING_GROWTH_MAX, "allocations per packets: {what}");
    }
}

#[test]
fn the_counter_counts() {
    let before = counted();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(counted(), before + 1);
}
