//! What libbpf prints while it works for this thread: there, and only there, is why a load fails.

use std::cell::RefCell;
use std::sync::Once;

use libbpf_rs::{set_print, PrintLevel};

thread_local! {
    static PRINTED: RefCell<String> = const { RefCell::new(String::new()) };
}

fn keep(_: PrintLevel, text: String) {
    PRINTED.with_borrow_mut(|printed| printed.push_str(&text));
}

/// Runs `work`, and gives what libbpf printed meanwhile too.
pub(crate) fn capture<T>(work: impl FnOnce() -> T) -> (T, String) {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        set_print(Some((PrintLevel::Warn, keep)));
    });
    PRINTED.with_borrow_mut(String::clear);
    let result = work();
    (result, PRINTED.with_borrow_mut(std::mem::take))
}

/// Lines of the verifier's log that are told.
const TAIL_LINES: usize = 8;

/// The program that the verifier refused and the last lines of its log, if that is what was printed.
pub(crate) fn refusal(printed: &str) -> Option<(String, String)> {
    let begin = "-- BEGIN PROG LOAD LOG --";
    let (head, rest) = printed.split_once(begin)?;
    let program = head.rsplit_once("prog '")?.1.split('\'').next()?.to_owned();
    let log = rest.split("-- END PROG LOAD LOG --").next()?;
    let is_told = |line: &&str| !line.trim().is_empty() && !line.starts_with("processed ");
    let lines: Vec<&str> = log.lines().filter(is_told).collect();
    let tail = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    let tail: Vec<String> = tail.iter().map(|line| format!("    {line}")).collect();
    Some((program, tail.join("\n")))
}

/// libbpf's last complaint.
pub(crate) fn last_line(printed: &str) -> Option<String> {
    let line = printed.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(line.trim().trim_start_matches("libbpf: ").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_program_and_reason() {
        let printed = "libbpf: prog 'x_init': BPF program load failed: Permission denied\n\
            libbpf: prog 'x_init': -- BEGIN PROG LOAD LOG --\n\
            0: R1=ctx() R10=fp0\n; tp->srtt_us = 1;\n5: (63) *(u32 *)(r1 +1696) = r2\n\
            only read is supported\n\
            processed 6 insns (limit 1000000) max_states_per_insn 0\n\
            -- END PROG LOAD LOG --\n\
            libbpf: prog 'x_init': failed to load: -EACCES\n";
        let (program, log) = refusal(printed).expect("a refusal");
        assert_eq!(program, "x_init");
        assert!(log.ends_with("\n    only read is supported"), "{log}");
        assert!(!log.contains("processed"), "{log}");
        assert_eq!(refusal("libbpf: failed to find BTF\n"), None);
        let last = last_line(printed).expect("there are lines");
        assert_eq!(last, "prog 'x_init': failed to load: -EACCES");
    }
}
