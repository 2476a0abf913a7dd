//! A test without a harness, as `cargo test` and `cargo nextest` start one.

use std::env;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Options of the standard harness that have a value.
const WITH_VALUE: [&str; 6] =
    ["--color", "--format", "--logfile", "--skip", "--test-threads", "--shuffle-seed"];

/// This binary.
pub fn this_binary() -> PathBuf {
    env::current_exe().expect("a running program has a file")
}

/// Starts `dumbbell` with these words, and this binary as a file of controllers.
pub fn run(words: &[&str]) -> ExitCode {
    let given: Vec<String> = env::args().skip(1).collect();
    let name = name();
    if given.iter().any(|word| word == "--list") {
        if !given.iter().any(|word| word == "--ignored") {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    if given.iter().any(|word| word == "--ignored") {
        return ExitCode::SUCCESS; // none is
    }
    let program = env::var_os("DUMBBELL").unwrap_or_else(|| "dumbbell".into());
    let mut command = Command::new(&program);
    command.args(words).arg("--cca").arg(this_binary());
    if env::var_os("DUMBBELL_STORE").is_none() {
        command.env("DUMBBELL_STORE", store());
    }
    if let Some(text) = filter(&given).filter(|text| *text != name && words[0] == "test") {
        command.args(["-k", text]);
    }
    match command.status() {
        Ok(status) => {
            ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
        }
        Err(error) => {
            let shown = program.to_string_lossy();
            eprintln!(
                "dumbbell-test: cannot start {shown} ({error}): install the program (`uv tool install dumbbell`, or see its \
                 README), or say where it is in the variable DUMBBELL"
            );
            ExitCode::from(2)
        }
    }
}

/// Where runs are kept: beside what cargo builds, which `cargo clean` takes away.
fn store() -> PathBuf {
    let file = this_binary();
    let built = file.ancestors().nth(2).unwrap_or(&file);
    built.join("dumbbell-store")
}

/// The first word that is no option: what `cargo test WORD` hands on.
fn filter(given: &[String]) -> Option<&str> {
    let mut words = given.iter();
    while let Some(word) = words.next() {
        if WITH_VALUE.contains(&word.as_str()) {
            words.next();
        } else if !word.starts_with('-') {
            return Some(word);
        }
    }
    None
}

/// The name of the test, without what cargo adds to that of its file.
fn name() -> String {
    let file = this_binary();
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    stem.rsplit_once('-').map_or(&*stem, |(name, _)| name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::filter;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn cargo_hands_on_the_text_that_names_must_have() {
        assert_eq!(filter(&words("fair --exact --nocapture")), Some("fair"));
        assert_eq!(filter(&words("--test-threads 2 --nocapture")), None);
    }
}
