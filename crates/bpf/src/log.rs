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

/// Maximum number of lines of the verifier's log in a message.
const TAIL_LINES: usize = 8;

/// The program that the verifier refused and the last lines of its log, if that is what was printed.
pub(crate) fn refusal(printed: &str) -> Option<(String, String)> {
    let begin = "-- BEGIN PROG LOAD LOG --";
    let (head, rest) = printed.split_once(begin)?;
    let program = head.rsplit_once("prog '")?.1.split('\'').next()?.to_owned();
    let log = rest.split("-- END PROG LOAD LOG --").next()?;
    let is_shown = |line: &&str| !line.trim().is_empty() && !line.starts_with("processed ");
    let lines: Vec<&str> = log.lines().filter(is_shown).collect();
    let tail = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    let tail: Vec<String> = tail.iter().map(|line| format!("    {line}")).collect();
    Some((program, tail.join("\n")))
}

/// What libbpf complains about, without what it adds to every complaint.
pub(crate) fn reason(printed: &str) -> Option<String> {
    let trimmed = |line| str::trim_start_matches(str::trim(line), "libbpf: ");
    let lines: Vec<&str> = printed.lines().map(trimmed).collect();
    let is_shown = |line: &&str| {
        let generic = ["failed to load object", "failed to load BPF skeleton", "failed to open"];
        !line.is_empty() && !generic.iter().any(|start| line.starts_with(start))
    };
    let shown: Vec<&str> = lines.iter().copied().filter(is_shown).collect();
    let shown = if shown.is_empty() { lines.last().copied().into_iter().collect() } else { shown };
    let tail = &shown[shown.len().saturating_sub(TAIL_LINES)..];
    (!tail.is_empty()).then(|| tail.join("; "))
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
    }

    #[test]
    fn the_reason_is_what_libbpf_says_of_this_object_and_not_of_any() {
        let printed = "libbpf: prog 'x_tso': no member of struct_ops refers to it\n\
            libbpf: failed to load object 'x'\n";
        let told = reason(printed).expect("there is one");
        assert_eq!(told, "prog 'x_tso': no member of struct_ops refers to it");
        assert_eq!(
            reason("libbpf: failed to load object 'x'\n").as_deref(),
            Some("failed to load object 'x'")
        );
        assert_eq!(reason(""), None);
    }
}
