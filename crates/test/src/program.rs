//! What the binary answers to `dumbbell`, which starts it with `--dumbbell` and a question: which controllers it has,
//! or the run of a plan. Answers are lines of standard output that begin with `dumbbell `; other lines are the
//! controllers' own.

use crate::{Controllers, Kind, Named};
use cca::Modules;
use serde_json::{json, Value};
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// By this text in a binary `dumbbell` knows that it may ask it. The number grows when the answers change.
#[used]
static MARK: [u8; 31] = *b"dumbbell asks for controllers 1";

/// The option that every question follows.
const OPTION: &str = "--dumbbell";
/// A run says how far it is at this distance.
const TELL_EVERY: Duration = Duration::from_millis(50);

/// A question.
pub enum Asked {
    /// Which controllers are there?
    Describe,
    /// Run the plan on standard input, and write its tables into this folder.
    Run(PathBuf),
}

impl Asked {
    /// The question of the command line; `None` where it has none.
    pub fn read() -> Option<Asked> {
        let words: Vec<String> = std::env::args().skip(1).collect();
        match &words[..] {
            [option, what] if option == OPTION && what == "describe" => Some(Asked::Describe),
            [option, what, out] if option == OPTION && what == "run" => {
                Some(Asked::Run(out.into()))
            }
            _ => None,
        }
    }
}

impl Controllers {
    pub(crate) fn answer(self, asked: &Asked) -> ExitCode {
        let said = match asked {
            Asked::Describe => self.described(),
            Asked::Run(out) => match self.run(out) {
                Ok(summary) => json!({ "summary": summary }),
                Err(refused) => refused,
            },
        };
        if say(&said) {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }

    fn described(&self) -> Value {
        let controllers: Vec<Value> = self.named.iter().map(Named::described).collect();
        json!({
            "engine": env!("CARGO_PKG_VERSION"), "manifest": record::MANIFEST_VERSION,
            "schema": record::SCHEMA_VERSION, "controllers": controllers,
        })
    }

    fn run(self, out: &std::path::Path) -> Result<Value, Value> {
        let failed = |text: String| json!({ "failed": text });
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map_err(|error| failed(error.to_string()))?;
        let modules = self.modules(&text);
        let result = sim::guard::caught(|| {
            let plan = sim::parse(&text, &modules)?;
            sim::run_with(&plan, &modules, out, &mut progress())
        });
        match result {
            Err(panic) => Err(json!({ "panic": panic })),
            Ok(Err(sim::RunError::Plan(error))) => Err(json!({ "refused": error.to_string() })),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Ok(Ok(summary)) => {
                serde_json::to_value(summary).map_err(|error| failed(error.to_string()))
            }
        }
    }

    fn modules(self, plan: &str) -> Modules {
        // What is no plan fails later, with a better message.
        let plan: Value = serde_json::from_str(plan).unwrap_or_default();
        let mut modules = Modules::seeded(plan["seed"].as_u64().unwrap_or(0));
        for Named { name, kind, .. } in self.named {
            if let Kind::Tcp(make) = kind {
                modules.add_custom(&name, Box::new(move |_| Ok(make())));
            }
        }
        modules
    }
}

impl Named {
    fn described(&self) -> Value {
        let transport = match self.kind {
            Kind::Tcp(_) => "tcp",
            Kind::Quinn => "quinn",
        };
        json!({ "name": self.name, "summary": self.summary, "transport": transport })
    }
}

/// Says how far a run is; ends it when nobody reads that any more.
#[allow(
    clippy::disallowed_methods,
    reason = "the machine's clock says when to tell; the run itself never sees it"
)]
fn progress() -> impl FnMut(u64, u64) -> bool {
    let mut told_at = None;
    move |at, packets| {
        if told_at.is_some_and(|at: Instant| at.elapsed() < TELL_EVERY) {
            return true;
        }
        told_at = Some(Instant::now());
        say(&json!({ "at": at, "packets": packets }))
    }
}

/// Writes an answer; `false` when nobody reads it.
fn say(answer: &Value) -> bool {
    let mut out = io::stdout().lock();
    writeln!(out, "dumbbell {answer}").and_then(|()| out.flush()).is_ok()
}
