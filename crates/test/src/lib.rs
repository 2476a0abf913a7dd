//! Regression tests of a congestion controller written in Rust, under `cargo test`.
//!
//! A test without a harness names the controllers of its crate, and a folder of scenario files that say what must hold.
//! `dumbbell test` plans and judges them; their runs are made by the test's own binary, which has the engine and the
//! controllers in it:
//!
//! ```no_run
//! // tests/congestion.rs, with `[[test]] name = "congestion", harness = false` in Cargo.toml
//! use std::process::ExitCode;
//! use std::sync::Arc;
//!
//! fn main() -> ExitCode {
//!     let mine = dumbbell_test::quinn_proto::congestion::NewRenoConfig::default();
//!     dumbbell_test::Controllers::new()
//!         .quinn("quinn:mine", "what it is, in a line", Arc::new(mine))
//!         .test("tests/congestion")
//! }
//! ```
//!
//! The same binary is a file for `--cca` of every other command ([`Controllers::program`]).

mod cargo;
mod program;

pub use cca::{CaState, Custom, RateSample, TcpSock};
pub use quinn_ends::Made;
pub use quinn_proto;

use std::process::ExitCode;

/// The controllers of a crate, by the names that scenario files have for them.
#[derive(Default)]
pub struct Controllers {
    named: Vec<Named>,
}

struct Named {
    name: String,
    summary: String,
    kind: Kind,
}

enum Kind {
    /// Makes one for each flow.
    Tcp(Box<dyn Fn() -> Box<dyn Custom> + Send + Sync>),
    /// Given to the engine already.
    Quinn,
}

impl Controllers {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a controller in quinn's interface: `cca = "quinn:mine"` in a flow with `transport = "quinn"`. `summary` is a
    /// line on what it is.
    ///
    /// # Panics
    /// When the name does not begin with `quinn:`, or is one of quinn's own.
    #[must_use]
    pub fn quinn(self, name: &str, summary: &str, factory: Made) -> Self {
        assert!(name.starts_with("quinn:"), "got {name}, wanted a name that begins with quinn:");
        quinn_ends::given::give(name, factory);
        self.with(name, summary, Kind::Quinn)
    }

    /// Adds a controller that sets the window and the pacing rate of a socket of the simulated Linux TCP: `cca = "mine"`.
    /// A controller of another stack takes part through such an adapter. `make` is called once a flow.
    ///
    /// # Panics
    /// When the name is longer than Linux has it (15 bytes).
    #[must_use]
    pub fn tcp<C: Custom + 'static>(
        self,
        name: &str,
        summary: &str,
        make: impl Fn() -> C + Send + Sync + 'static,
    ) -> Self {
        assert!((1..=15).contains(&name.len()), "got the name {name}, wanted 1 to 15 bytes");
        self.with(name, summary, Kind::Tcp(Box::new(move || Box::new(make()))))
    }

    fn with(mut self, name: &str, summary: &str, kind: Kind) -> Self {
        let is_new = self.named.iter().all(|named| named.name != name);
        assert!(is_new, "{name} is named twice");
        self.named.push(Named { name: name.to_owned(), summary: summary.to_owned(), kind });
        self
    }

    /// The `main` of a test without a harness: judges what the scenario files in `folder` expect, prints each sentence, and
    /// fails where one does not hold. `cargo test NAME` keeps to the sentences that have this text.
    #[must_use]
    pub fn test(self, folder: &str) -> ExitCode {
        self.command(&["test", folder])
    }

    /// The same with any command of `dumbbell` that takes `--cca`: `["suite", "nsperf", "quinn:mine"]`.
    #[must_use]
    pub fn command(self, words: &[&str]) -> ExitCode {
        match program::Asked::read() {
            Some(asked) => self.answer(&asked),
            None => cargo::run(words),
        }
    }

    /// The `main` of a binary or an example that is only a file for `--cca`: `dumbbell run x.toml --cca
    /// target/release/examples/mine`.
    #[must_use]
    pub fn program(self) -> ExitCode {
        if let Some(asked) = program::Asked::read() {
            return self.answer(&asked);
        }
        eprintln!(
            "controllers for dumbbell: `dumbbell run SCENARIO.toml --cca {}`",
            cargo::this_binary().display()
        );
        for named in &self.named {
            eprintln!("  {:16} {}", named.name, named.summary);
        }
        ExitCode::from(2)
    }
}
