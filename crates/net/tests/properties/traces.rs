//! Any bytes are a trace or an error that names its line.

use net::trace::{Opportunities, Trace, TraceErrorKind, TraceReader};
use proptest::prelude::*;
use std::io::{BufReader, Cursor};
use units::Time;

/// Bytes that look enough like a trace to get far.
fn almost_a_trace() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        8 => (0_u32..50).prop_map(|n| n.to_string()),
        1 => any::<u64>().prop_map(|n| n.to_string()),
        1 => "[ \t+-]{0,3}[0-9a-z.]{0,45}",
    ];
    let end = prop_oneof![9 => Just("\n"), 1 => Just("\r\n"), 1 => Just("")];
    prop::collection::vec((line, end), 0..30).prop_map(|mut lines| {
        lines.sort_by_key(|(line, _)| line.parse::<u64>().unwrap_or(25));
        lines.iter().map(|(line, end)| format!("{line}{end}")).collect::<String>().into_bytes()
    })
}

fn judge(bytes: &[u8]) -> Result<(), TestCaseError> {
    let whole = Trace::parse(bytes);
    // A buffer of a few bytes splits lines everywhere; the judgement is the same.
    let torn = Trace::parse(BufReader::with_capacity(3, bytes));
    prop_assert_eq!(&whole, &torn);
    let streamed = TraceReader::open(Box::new(Cursor::new(bytes.to_vec())));
    match (whole, streamed) {
        (Ok(trace), Ok(reader)) => {
            prop_assert_eq!(trace.period(), reader.period());
            let mut written = Vec::new();
            trace.write(&mut written).expect("memory takes it");
            prop_assert_eq!(&Trace::parse(&written[..]), &Ok(trace.clone()));
            let n = trace.times_ms().len() * 3;
            let (mut a, mut b) = (Opportunities::from(trace), Opportunities::from(reader));
            for _ in 0..n {
                let at = a.next_time();
                prop_assert_eq!(at, b.next_time());
            }
        }
        (Err(a), Err(b)) => {
            let lines = bytes.split(|&b| b == b'\n').count() as u64;
            prop_assert!(a.line <= lines, "{a} of {lines} lines");
            prop_assert!(a.line > 0 || a.kind == TraceErrorKind::NoTimes, "{a}");
            prop_assert_eq!(a, b);
        }
        (a, b) => prop_assert!(false, "in memory {a:?}, streamed {b:?}"),
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_bytes_are_a_trace_or_an_error_with_its_line(bytes: Vec<u8>) {
        judge(&bytes)?;
    }

    #[test]
    fn text_that_is_almost_a_trace_too(bytes in almost_a_trace()) {
        judge(&bytes)?;
    }

    #[test]
    fn times_in_order_are_a_trace_and_are_counted(
        mut ms in prop::collection::vec(0_u32..200, 1..50),
        at in 0_u64..1_000_000_000,
    ) {
        ms.sort_unstable();
        prop_assume!(ms.last() != Some(&0));
        let opportunities = || Opportunities::from(Trace::from_ms(ms.clone()).expect("in order"));
        let mut walk = opportunities();
        let mut count = 0;
        while walk.next_time().is_some_and(|t| t < Time::from_ns(at)) {
            count += 1;
        }
        prop_assert_eq!(opportunities().before(Time::from_ns(at)), count);
    }
}
