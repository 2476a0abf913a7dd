//! Chores of the repository, as a library so that tests call the same code as the command.
//!
//! | module | what |
//! | --- | --- |
//! | [`source`] | the tracked files, with comments and text blanked out |
//! | [`circles`] | files that include or import each other |
//! | [`functions`] | where functions begin and end, in Rust, C and Python |
//! | [`tidy`] | the style rules that a machine can judge |
//! | [`generate`] | documentation that is written from code |
//! | [`plan`] | the types of a plan in Python |
//! | [`pages`] | what the maps of the repository name |

pub mod circles;
pub mod functions;
pub mod generate;
pub mod pages;
pub mod plan;
pub mod source;
pub mod tidy;
