//! Fields of `tcp_info` in a script of packetdrill.

use crate::host::Host;
use std::fmt::Write as _;

/// Asserts that fields have the simulated TCP's values, and that those of `near` differ from them by no more than they may.
pub fn assertions(host: &Host, exact: &[&str], near: &[(&str, i64)]) -> String {
    let value = |name| host.info(name).unwrap_or(-1);
    let values: Vec<String> = exact.iter().map(|&name| value(name).to_string()).collect();
    let names = exact.join(", ");
    let mut text = format!("+0 %{{ is_ = ({names})\nassert is_ == ({}), is_\n", values.join(", "));
    for &(name, most) in near {
        // A tick in the estimate is doubled with each timeout.
        let doublings = if name == "tcpi_rto" { value("tcpi_backoff").clamp(0, 10) } else { 0 };
        let most = most << doublings;
        let _ = writeln!(text, "assert abs({name} - {}) <= {most}, {name}", value(name));
    }
    text.push_str("}%\n");
    text
}
