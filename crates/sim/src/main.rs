//! `dumbbell-sim PLAN.json OUT_DIR [CONTROLLER.c...]`: runs one plan and prints its summary, without
//! Python. For benchmarks, profilers and sanitizers.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [plan, out, own @ ..] = &args[..] else {
        eprintln!("usage: dumbbell-sim PLAN.json OUT_DIR [CONTROLLER.c...]");
        return ExitCode::from(2);
    };
    let summary = run(Path::new(plan), Path::new(out), own);
    match summary.and_then(|summary| Ok(writeln!(io::stdout(), "{summary}")?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dumbbell-sim: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(plan: &Path, out: &Path, own: &[String]) -> Result<String, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string(plan)?;
    // A plan that does not parse fails below, with a better message.
    let hz = serde_json::from_str::<sim::Plan>(&text).map_or(1000, |plan| plan.host.hz);
    let mut modules = cca::Modules::new();
    for (i, file) in own.iter().enumerate() {
        let folder = out.join(format!("own{i}"));
        std::fs::create_dir_all(&folder)?;
        modules.add(&cca::compile(Path::new(file), &folder, hz)?)?;
    }
    let plan = sim::parse(&text, &modules)?;
    let summary = sim::run_with(&plan, &modules, out, &mut |_, _| true)?;
    Ok(serde_json::to_string(&summary)?)
}
