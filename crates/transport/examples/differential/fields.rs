//! Fields of `tcp_info` in a script of packetdrill.

use crate::host::Host;
use std::fmt::Write as _;

/// The beginning of the line that compares fields.
const EQUAL: &str = "assert is_ == ";

/// Asserts that fields have the simulated TCP's values, and that those of `near` differ from them by no more than they may.
pub fn assertions(host: &Host, exact: &[&str], near: &[(&str, i64)]) -> String {
    let value = |name| host.info(name).unwrap_or(-1);
    let values: Vec<String> = exact.iter().map(|&name| value(name).to_string()).collect();
    let names = exact.join(", ");
    let mut text = format!("+0 %{{ is_ = ({names})\n{EQUAL}({}), is_\n", values.join(", "));
    for &(name, most) in near {
        // A tick in the estimate is doubled with each timeout.
        let doublings = if name == "tcpi_rto" { value("tcpi_backoff").clamp(0, 10) } else { 0 };
        let most = most << doublings;
        let _ = writeln!(text, "assert abs({name} - {}) <= {most}, {name}", value(name));
    }
    text.push_str("}%\n");
    text
}

/// The script up to line `end`, changed to say after which of the peer's packets exact fields first differ, and to fail
/// there. Packetdrill checks fields at the end of a script, so that it never does where a packet differs first.
pub fn first_that_differs(script: &str, end: usize) -> String {
    let (mut text, mut packet) = (String::new(), "");
    for line in script.lines().take(end.saturating_sub(1)) {
        if line.contains(" < ") {
            packet = line;
        }
        let Some(values) = line.strip_prefix(EQUAL).and_then(|l| l.strip_suffix(", is_")) else {
            // The fields that may be near are left out: they differ always, by what they may.
            if !line.starts_with("assert ") {
                let _ = writeln!(text, "{line}");
            }
            continue;
        };
        let _ = writeln!(
            text,
            "assert is_ == {values}, f'{packet}: kernel {{is_}}, simulated {values}'"
        );
    }
    text
}
