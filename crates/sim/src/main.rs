//! `dumbbell-sim PLAN.json OUT_DIR`: runs one plan and prints its summary, without Python. For
//! benchmarks, profilers and sanitizers.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    let [_, plan, out] = &args[..] else {
        eprintln!("usage: dumbbell-sim PLAN.json OUT_DIR");
        return ExitCode::from(2);
    };
    match run(Path::new(plan), Path::new(out)) {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("dumbbell-sim: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(plan: &Path, out: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string(plan)?;
    let plan = sim::Plan::from_json(&text)?;
    let summary = sim::run(&plan, out, &mut |_, _| true)?;
    Ok(serde_json::to_string(&summary)?)
}
