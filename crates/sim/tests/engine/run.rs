//! Runs plans and reads their tables back.

use cca::Modules;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use sim::{Plan, Summary};
use std::collections::BTreeMap;
use std::fs::File;
use tempfile::TempDir;

/// The folder of a run and what it said.
pub struct Ran {
    pub summary: Summary,
    folder: TempDir,
}

/// Runs a plan; the engine itself asserts conservation at the end.
pub fn run(plan: &Plan) -> Ran {
    let json = serde_json::to_string(plan).expect("a plan is JSON");
    let plan = sim::parse(&json, &Modules::new()).unwrap_or_else(|e| panic!("{e}: {json}"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let summary = sim::run(&plan, folder.path(), &mut |_, _| true);
    Ran { summary: summary.unwrap_or_else(|e| panic!("{e}: {json}")), folder }
}

/// One row of a table by column name.
pub struct Cells(BTreeMap<String, Field>);

impl Ran {
    /// The rows of a table.
    pub fn table(&self, name: &str) -> Vec<Cells> {
        let path = self.folder.path().join(name).with_extension("parquet");
        let file = File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let reader = SerializedFileReader::new(file).expect("a Parquet file");
        let rows = reader.get_row_iter(None).expect("rows");
        let cells = |row: Row| Cells(row.into_columns().into_iter().collect());
        rows.map(|row| cells(row.expect("a row"))).collect()
    }

    /// Name and content of every file of the folder.
    pub fn bytes(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = std::fs::read_dir(self.folder.path()).expect("the run's folder");
        entries
            .map(|entry| {
                let entry = entry.expect("an entry");
                let name = entry.file_name().to_string_lossy().into_owned();
                (name, std::fs::read(entry.path()).expect("a readable file"))
            })
            .collect()
    }
}

impl Cells {
    /// An integer; `None` for null.
    pub fn get(&self, column: &str) -> Option<i64> {
        match &self.0[column] {
            Field::Null => None,
            Field::Int(v) => Some(i64::from(*v)),
            Field::Long(v) => Some(*v),
            other => panic!("{column} is no integer: {other:?}"),
        }
    }

    /// An integer that is never null.
    pub fn int(&self, column: &str) -> i64 {
        self.get(column).unwrap_or_else(|| panic!("{column} is null"))
    }

    /// A text that is never null.
    pub fn text(&self, column: &str) -> &str {
        match &self.0[column] {
            Field::Str(text) => text,
            other => panic!("{column} is no text: {other:?}"),
        }
    }
}
