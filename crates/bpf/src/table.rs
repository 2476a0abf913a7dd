//! How a controller describes itself: the tables of `cca/hosts/bpf/table.h`, from the object or from the
//! maps that the kernel keeps of it.

use serde::Serialize;

use crate::Error;

/// Sections of the object that hold the tables: the controller's names, its parameters, their values, its states.
pub(crate) const MODULE: &str = ".rodata.module";
pub(crate) const ROWS: &str = ".rodata.params";
pub(crate) const VALUES: &str = ".data.params";
pub(crate) const STATES: &str = ".rodata.states";

/// A parameter and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Param {
    /// Name, as in the source.
    pub name: String,
    /// Value in force.
    pub value: u32,
    /// Value unless set.
    pub default: u32,
    /// Minimum value.
    pub min: u32,
    /// Maximum value.
    pub max: u32,
    /// Unit.
    pub unit: String,
    /// What it does.
    pub doc: String,
}

/// A controller's own description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// The name that its source gives it, such as `bbr-hsr`.
    pub(crate) name: String,
    /// What the kernel calls it, such as `d_bbr_hsr`.
    pub(crate) kernel_name: String,
    /// Parameters, in the order of their values.
    pub(crate) params: Vec<Param>,
    /// Names of its states.
    pub(crate) states: Vec<String>,
}

/// Sizes of the texts in these tables, bytes.
const NAME: usize = 48;
const KERNEL_NAME: usize = 16;
const UNIT: usize = 32;
const DOC: usize = 160;
/// `sizeof(struct cca_module_row)`: two names.
const MODULE_ROW: usize = NAME + KERNEL_NAME;
/// `sizeof(struct cca_param_row)`: three texts and three numbers.
const PARAM_ROW: usize = NAME + UNIT + DOC + 3 * size_of::<u32>();
/// `CCA_STATE_NAME_MAX`.
const STATE_ROW: usize = 24;

impl Table {
    /// From the bytes of [`MODULE`], [`ROWS`], [`VALUES`] and [`STATES`]; none when they are not such tables.
    pub(crate) fn parse(module: &[u8], rows: &[u8], values: &[u8], states: &[u8]) -> Option<Self> {
        if module.len() < MODULE_ROW || rows.len() % PARAM_ROW != 0 {
            return None;
        }
        let values: Vec<u32> = values.chunks_exact(4).map(|value| number(value, 0)).collect();
        let rows: Vec<&[u8]> = rows.chunks_exact(PARAM_ROW).collect();
        if values.len() < rows.len() {
            return None;
        }
        let mut module = Fields(module);
        let table = Self {
            name: module.text(NAME),
            kernel_name: module.text(KERNEL_NAME),
            params: rows.iter().zip(values).map(|(row, value)| param(row, value)).collect(),
            states: states.chunks_exact(STATE_ROW).map(text).collect(),
        };
        let is_file_name = |name: &str| {
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
            !name.is_empty() && name.chars().all(fits)
        };
        is_file_name(&table.kernel_name).then_some(table)
    }

    /// Position of a parameter that may take this value, and the value.
    pub(crate) fn assign(&self, name: &str, value: &str) -> Result<(usize, u32), Error> {
        let Some(at) = self.params.iter().position(|param| param.name == name) else {
            return Err(Error::UnknownParam {
                controller: self.name.clone(),
                name: name.to_owned(),
                known: self.params.iter().map(|param| param.name.clone()).collect(),
            });
        };
        let param = &self.params[at];
        match value.parse::<u32>() {
            Ok(value) if (param.min..=param.max).contains(&value) => Ok((at, value)),
            _ => Err(Error::OutOfRange {
                controller: self.name.clone(),
                name: name.to_owned(),
                got: value.to_owned(),
                min: param.min,
                max: param.max,
            }),
        }
    }

    /// Writes values of parameters into the bytes of `.data.params`; all or, if one is refused, none.
    pub(crate) fn write(
        &self,
        params: &[(String, String)],
        values: &mut [u8],
    ) -> Result<(), Error> {
        let given: Result<Vec<_>, _> =
            params.iter().map(|(name, value)| self.assign(name, value)).collect();
        for (at, value) in given? {
            values[4 * at..4 * at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        Ok(())
    }
}

fn param(row: &[u8], value: u32) -> Param {
    let mut row = Fields(row);
    Param {
        name: row.text(NAME),
        value,
        unit: row.text(UNIT),
        doc: row.text(DOC),
        default: row.number(),
        min: row.number(),
        max: row.number(),
    }
}

/// The fields of a row that are not read yet, in the order of the C struct, which has no padding.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn text(&mut self, len: usize) -> String {
        let (field, rest) = self.0.split_at(len);
        self.0 = rest;
        text(field)
    }

    fn number(&mut self) -> u32 {
        let found = number(self.0, 0);
        self.0 = &self.0[size_of::<u32>()..];
        found
    }
}

/// A text that ends with a zero byte or fills its place.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// The u32 at a place that is inside.
pub(crate) fn number(bytes: &[u8], at: usize) -> u32 {
    let mut value = [0; 4];
    value.copy_from_slice(&bytes[at..at + 4]);
    u32::from_ne_bytes(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn padded(text: &str, len: usize) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(len, 0);
        bytes
    }

    fn module() -> Vec<u8> {
        [padded("my-cca", 48), padded("d_my_cca", 16)].concat()
    }

    fn rows() -> Vec<u8> {
        let row = |name: &str, def: u32, max: u32| {
            let numbers = [def, 1, max].map(u32::to_ne_bytes).concat();
            [padded(name, 48), padded("1/256", 32), padded("a gain", 160), numbers].concat()
        };
        [row("gain", 320, 1023), row("cut", 76, 255)].concat()
    }

    fn table() -> Table {
        let values = [320u32, 99].map(u32::to_ne_bytes).concat();
        Table::parse(&module(), &rows(), &values, &padded("UP", 24)).expect("well-formed")
    }

    #[test]
    fn a_table_holds_what_the_source_says() {
        let table = table();
        assert_eq!((&*table.name, &*table.kernel_name), ("my-cca", "d_my_cca"));
        assert_eq!(table.states, ["UP"]);
        let cut = &table.params[1];
        assert_eq!((&*cut.name, cut.value, cut.default, cut.min, cut.max), ("cut", 99, 76, 1, 255));
        assert_eq!((&*cut.unit, &*cut.doc), ("1/256", "a gain"));
    }

    #[test]
    fn either_all_parameters_are_written_or_none() {
        let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut values = [320u32, 76].map(u32::to_ne_bytes).concat();
        table().write(&[set("cut", "255"), set("gain", "1")], &mut values).expect("in range");
        assert_eq!(values, [1u32, 255].map(u32::to_ne_bytes).concat());
        let before = values.clone();
        for (bad, error) in [
            (set("cut", "256"), "my-cca: cut: got 256, wanted a whole number from 1 to 255"),
            (set("cut", "-1"), "my-cca: cut: got -1, wanted a whole number from 1 to 255"),
            (set("cutt", "2"), "my-cca: unknown parameter cutt, wanted one of: gain, cut"),
        ] {
            let refused = table().write(&[set("gain", "7"), bad], &mut values).expect_err(error);
            assert_eq!(refused.to_string(), error);
            assert_eq!(values, before);
        }
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let values = [0; 8];
        assert!(Table::parse(&[], &rows(), &values, &[]).is_none(), "no name");
        assert!(Table::parse(&module(), &rows()[1..], &values, &[]).is_none(), "part of a row");
        assert!(
            Table::parse(&module(), &rows(), &values[..4], &[]).is_none(),
            "a value is missing"
        );
        let sly = [padded("x", 48), padded("../x", 16)].concat();
        assert!(Table::parse(&sly, &[], &[], &[]).is_none(), "its name would leave the folder");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            module in proptest::collection::vec(any::<u8>(), 0..80),
            rows in proptest::collection::vec(any::<u8>(), 0..600),
            values in proptest::collection::vec(any::<u8>(), 0..40),
            states in proptest::collection::vec(any::<u8>(), 0..60),
        ) {
            if let Some(table) = Table::parse(&module, &rows, &values, &states) {
                prop_assert!(table.params.len() * 4 <= values.len());
                prop_assert!(!table.kernel_name.contains('/'));
            }
        }
    }
}
