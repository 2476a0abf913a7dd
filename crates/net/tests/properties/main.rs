//! What holds for every input: parsers survive any bytes, links agree with simpler models of themselves,
//! and nothing is lost without a word.

mod links;
mod parts;
mod traces;
