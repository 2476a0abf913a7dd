//! The code of a script, `%{ ... }%`: assertions and variables, in the part of Python that scripts use. Numbers are
//! whole; what is printed, and the message of an assertion, is left out.

use crate::info::FIELDS;
use std::collections::BTreeMap;

/// Names that have a value from the start.
const CONSTANTS: [(&str, i64); 6] = [
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCP_INFINITE_SSTHRESH", cca::INFINITE_SSTHRESH as i64),
];

/// Operators, longer ones before those they begin with, and how tightly they bind.
const OPERATORS: [(&str, u8); 14] = [
    ("or", 1),
    ("and", 2),
    ("==", 3),
    ("!=", 3),
    ("<=", 3),
    (">=", 3),
    ("<", 3),
    (">", 3),
    ("+", 4),
    ("-", 4),
    ("//", 5),
    ("*", 5),
    ("/", 5),
    ("%", 5),
];
const COMPARES: u8 = 3;

/// One statement, and its line.
#[derive(Clone, Debug)]
pub struct Statement {
    pub line: usize,
    pub what: Do,
    /// As written.
    pub text: String,
}

#[derive(Clone, Debug)]
pub enum Do {
    Assert(Expr),
    /// A variable gets a value.
    Set(String, Expr),
}

#[derive(Clone, Debug)]
pub enum Expr {
    Number(i64),
    Name(String),
    Not(Box<Expr>),
    Minus(Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// `a < b < c`.
    Chain(Box<Expr>, Vec<(&'static str, Expr)>),
}

/// Values of variables.
pub type Variables = BTreeMap<String, i64>;

/// The statements of a block that begins on line `first`; `known` are the variables so far.
pub fn parse(text: &str, first: usize, known: &mut Vec<String>) -> Result<Vec<Statement>, String> {
    let inner = text.strip_prefix("%{").and_then(|t| t.trim_end().strip_suffix("}%"));
    let inner = inner.ok_or_else(|| format!("code is %{{ ... }}%, got `{text}`"))?;
    let mut found = Vec::new();
    for (i, line) in inner.split('\n').enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        for part in line.split(';').map(str::trim).filter(|p| !p.is_empty()) {
            if !part.starts_with("print") {
                found.push(statement(part, first + i, known)?);
            }
        }
    }
    Ok(found)
}

fn statement(text: &str, line: usize, known: &mut Vec<String>) -> Result<Statement, String> {
    let make = |what| Statement { line, what, text: text.to_string() };
    if let Some(rest) = text.strip_prefix("assert ") {
        let mut reader = Reader { rest: rest.trim(), known };
        let expr = reader.expr(0)?;
        let rest = reader.rest.trim();
        if !rest.is_empty() && !rest.starts_with(',') {
            return Err(format!("wanted an operator or `, message`, got `{rest}`"));
        }
        let shown = &text[..text.len() - rest.len()];
        let shown = shown.trim_start_matches("assert ").trim().to_string();
        return Ok(Statement { text: shown, ..make(Do::Assert(expr)) });
    }
    let wrong = || format!("wanted `assert name == value` or `name = value`, got `{text}`");
    let (left, right) = text.split_once('=').ok_or_else(wrong)?;
    let (name, op) = match left.trim_end().strip_suffix(['+', '-']) {
        Some(name) => (name.trim(), Some(if left.trim_end().ends_with('+') { "+" } else { "-" })),
        None => (left.trim(), None),
    };
    if !is_name(name) || right.starts_with('=') {
        return Err(wrong());
    }
    let mut reader = Reader { rest: right.trim(), known };
    let mut value = reader.expr(0)?;
    if !reader.rest.trim().is_empty() {
        return Err(wrong());
    }
    if let Some(op) = op {
        value = Expr::Binary(op, Box::new(Expr::Name(name.to_string())), Box::new(value));
    }
    known.push(name.to_string());
    Ok(make(Do::Set(name.to_string(), value)))
}

fn is_name(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !text.is_empty()
        && text.chars().all(is_letter)
        && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// Reads expressions from the front of a text.
struct Reader<'a> {
    rest: &'a str,
    known: &'a [String],
}

impl<'a> Reader<'a> {
    /// An expression of operators that bind more tightly than `above`.
    fn expr(&mut self, above: u8) -> Result<Expr, String> {
        let mut left = self.operand()?;
        while let Some((op, binds)) = self.operator(above) {
            let right = self.expr(binds)?;
            left = match left {
                Expr::Chain(first, mut more) if binds == COMPARES => {
                    more.push((op, right));
                    Expr::Chain(first, more)
                }
                left if binds == COMPARES => Expr::Chain(Box::new(left), vec![(op, right)]),
                left => Expr::Binary(op, Box::new(left), Box::new(right)),
            };
        }
        Ok(left)
    }

    fn operator(&mut self, above: u8) -> Option<(&'static str, u8)> {
        self.rest = self.rest.trim_start();
        let &(op, binds) = OPERATORS.iter().find(|(op, _)| self.rest.starts_with(op))?;
        if binds <= above {
            return None;
        }
        self.rest = &self.rest[op.len()..];
        Some((op, binds))
    }

    fn operand(&mut self) -> Result<Expr, String> {
        self.rest = self.rest.trim_start();
        if let Some(rest) = self.rest.strip_prefix('(') {
            self.rest = rest;
            let inner = self.expr(0)?;
            self.rest = self.rest.trim_start().strip_prefix(')').ok_or("`(` without `)`")?;
            return Ok(inner);
        }
        if let Some(rest) = self.rest.strip_prefix('-') {
            self.rest = rest;
            return Ok(Expr::Minus(Box::new(self.operand()?)));
        }
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !is_letter(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        match word {
            "" => Err(format!("wanted a value, got `{rest}`")),
            "not" => Ok(Expr::Not(Box::new(self.expr(COMPARES - 1)?))),
            word if word.starts_with(|c: char| c.is_ascii_digit()) => number(word),
            word => self.name(word),
        }
    }

    fn name(&self, word: &str) -> Result<Expr, String> {
        let is_known = CONSTANTS.iter().any(|c| c.0 == word)
            || self.known.iter().any(|name| name == word)
            || FIELDS.contains(&word);
        match is_known {
            true => Ok(Expr::Name(word.to_string())),
            false => Err(format!("no field `{word}`; there are {FIELDS:?}")),
        }
    }
}

fn number(word: &str) -> Result<Expr, String> {
    let value = match word.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => word.parse(),
    };
    value.map(Expr::Number).map_err(|_| format!("wanted a whole number, got `{word}`"))
}

impl Expr {
    /// The value, with `field` for the fields of `tcp_info`.
    pub fn value(
        &self,
        variables: &Variables,
        field: &dyn Fn(&str) -> Option<i64>,
    ) -> Result<i64, String> {
        let of = |expr: &Expr| expr.value(variables, field);
        let constant = |name: &str| CONSTANTS.iter().find(|c| c.0 == name).map(|c| c.1);
        Ok(match self {
            Expr::Number(n) => *n,
            Expr::Name(name) => variables
                .get(name)
                .copied()
                .or_else(|| constant(name))
                .or_else(|| field(name))
                .ok_or_else(|| format!("this end has no {name}"))?,
            Expr::Not(inner) => i64::from(of(inner)? == 0),
            Expr::Minus(inner) => of(inner)?.wrapping_neg(),
            Expr::Binary("and", a, b) => i64::from(of(a)? != 0 && of(b)? != 0),
            Expr::Binary("or", a, b) => i64::from(of(a)? != 0 || of(b)? != 0),
            Expr::Binary(op, a, b) => arithmetic(op, of(a)?, of(b)?)?,
            Expr::Chain(first, more) => {
                let mut left = of(first)?;
                for (op, right) in more {
                    let right = of(right)?;
                    if !compares(op, left, right) {
                        return Ok(0);
                    }
                    left = right;
                }
                1
            }
        })
    }

    /// What an assertion of this reports when it fails: the left side of a comparison, or the whole.
    pub fn shown(&self) -> &Expr {
        match self {
            Expr::Chain(first, _) => first,
            other => other,
        }
    }
}

fn arithmetic(op: &str, a: i64, b: i64) -> Result<i64, String> {
    match op {
        "+" => Ok(a.wrapping_add(b)),
        "-" => Ok(a.wrapping_sub(b)),
        "*" => Ok(a.wrapping_mul(b)),
        // Of numbers that are not negative these are Python's.
        "%" => a.checked_rem(b).ok_or_else(|| "division by zero".to_string()),
        _ => a.checked_div(b).ok_or_else(|| "division by zero".to_string()),
    }
}

fn compares(op: &str, left: i64, right: i64) -> bool {
    match op {
        "==" => left == right,
        "!=" => left != right,
        "<" => left < right,
        "<=" => left <= right,
        ">" => left > right,
        _ => left >= right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> i64 {
        let mut known = Vec::new();
        let code = parse(&format!("%{{ a = 7; a += 2; x = {text} }}%"), 1, &mut known).expect(text);
        let mut variables = Variables::new();
        for statement in code {
            let Do::Set(name, expr) = statement.what else { unreachable!("only variables") };
            let value = expr.value(&variables, &|name| (name == "tcpi_lost").then_some(3));
            variables.insert(name, value.expect(text));
        }
        variables["x"]
    }

    #[test]
    fn operators_bind_as_in_python() {
        for (text, expected) in [
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3 - 4", 5),
            ("a // 2 % 3", 1),
            ("0x10 - -1", 17),
            ("1 < 2 < 3", 1),
            ("1 < 3 < 2", 0),
            ("1 < 2 and not 2 == 2", 0),
            ("tcpi_lost == 3 or 1 / 0", 1),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }
}
