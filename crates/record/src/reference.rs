//! The schemas as the Markdown tables of `docs/results.md`.

use crate::schema::{
    EventKind, EventRow, FlowRow, LimitRow, MessageRow, ProbeRow, QueueRow, SampleRow, VariableRow,
    LIMITS,
};
use crate::table::Table;
use std::fmt::Write;

/// All tables, each with a heading, and the kinds of events.
pub fn markdown() -> String {
    let mut text = String::new();
    section::<FlowRow>(&mut text);
    section::<SampleRow>(&mut text);
    section::<QueueRow>(&mut text);
    section::<EventRow>(&mut text);
    text.push_str("| kind | meaning |\n| --- | --- |\n");
    for kind in EventKind::ALL {
        writeln!(text, "| `{}` | {} |", kind.as_str(), kind.doc()).expect("a String never refuses");
    }
    text.push('\n');
    section::<MessageRow>(&mut text);
    section::<ProbeRow>(&mut text);
    section::<VariableRow>(&mut text);
    section::<LimitRow>(&mut text);
    text.push_str(
        "Where several limits hold, the first here counts.\n\n| limit | meaning |\n| --- | --- |\n",
    );
    for (limit, doc) in LIMITS {
        writeln!(text, "| `{limit}` | {doc} |").expect("a String never refuses");
    }
    text.push('\n');
    text
}

fn section<R: Table>(text: &mut String) {
    let head = "| column | type | unit | meaning |\n| --- | --- | --- | --- |";
    let mut line = |s: String| {
        text.push_str(&s);
        text.push('\n');
    };
    line(format!("### {}.parquet\n\n{}\n\n{head}", R::NAME, R::DOC.trim()));
    for column in R::COLUMNS {
        let null = if column.nullable { ", null" } else { "" };
        let (name, kind, unit) = (column.name, column.kind, column.unit);
        line(format!("| `{name}` | {kind}{null} | {unit} | {} |", column.doc.trim()));
    }
    line(String::new());
}
