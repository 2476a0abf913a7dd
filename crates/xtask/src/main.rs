//! `cargo run -p xtask -- gen` writes the generated documentation; `-- tidy` judges the style.

use std::process::ExitCode;
use xtask::{generate, pages, source, tidy};

fn main() -> ExitCode {
    let root = source::root();
    match std::env::args().nth(1).as_deref() {
        Some("gen") => gen(&root),
        Some("tidy") => report(&root),
        other => {
            eprintln!("usage: xtask gen | tidy, got {}", other.unwrap_or("nothing"));
            ExitCode::from(2)
        }
    }
}

fn gen(root: &std::path::Path) -> ExitCode {
    for page in generate::pages(root) {
        match page.and_then(|page| page.write()) {
            Ok(path) => println!("{}", path.display()),
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn report(root: &std::path::Path) -> ExitCode {
    let findings = tidy::findings(&source::tracked(root));
    for finding in &findings {
        println!("{finding}");
    }
    let dead = pages::all_dead_names(root);
    for name in &dead {
        println!("{name}");
    }
    let refused = findings.iter().filter(|finding| finding.is_error()).count();
    let errors = refused + dead.len();
    eprintln!("tidy: {errors} errors, {} warnings", findings.len() - refused);
    ExitCode::from(u8::from(errors > 0))
}
