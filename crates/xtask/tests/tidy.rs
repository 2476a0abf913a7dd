//! Style as a test: the repository against the rules, and the rules against small examples.

use xtask::circles::circles;
use xtask::functions::{functions, Function};
use xtask::generate;
use xtask::pages::{all_dead_names, dead_names};
use xtask::source::{self, Source};
use xtask::tidy;

/// The errors that the rules find in one file.
fn errors(path: &str, text: &str) -> Vec<String> {
    let found = tidy::findings(&[Source::new(path, text.to_string())]);
    found.into_iter().filter(|f| f.is_error()).map(|f| f.text).collect()
}

fn found(path: &str, text: &str) -> Vec<(String, usize, usize)> {
    let tuple = |f: Function| (f.name, f.line, f.lines);
    functions(&Source::new(path, text.to_string())).into_iter().map(tuple).collect()
}

#[test]
fn the_repository_is_tidy() {
    let sources = source::tracked(&source::root());
    assert!(sources.len() > 50, "only {} files found", sources.len());
    let found = tidy::findings(&sources);
    let errors: Vec<_> = found.iter().filter(|f| f.is_error()).map(|f| f.to_string()).collect();
    assert!(errors.is_empty(), "\n{}", errors.join("\n"));
}

#[test]
fn maps_name_files_that_exist_and_what_they_contain() {
    let dead = all_dead_names(&source::root());
    assert!(dead.is_empty(), "\n{}", dead.join("\n"));
}

#[test]
fn a_path_that_does_not_exist_and_a_name_that_a_file_lacks_are_errors() {
    let text = "`crates/xtask/src/lib.rs`, `cca/NAME.c`, `docs/lost.md`\n\
                | tidy | `crates/xtask/src/lib.rs` | `tidy`, `untidy` |\n";
    let wanted = [
        "a.md:1: `docs/lost.md` does not exist",
        "a.md:2: `crates/xtask/src/lib.rs` has no `untidy`",
    ];
    assert_eq!(dead_names(&source::root(), "a.md", text), wanted);
}

#[test]
fn generated_pages_say_what_the_code_says() {
    for page in generate::pages(&source::root()) {
        assert!(page.expect("the page has its markers").is_fresh(), "stale: run make gen");
    }
}

#[test]
fn rust_functions_are_counted_from_name_to_brace() {
    let text = "//! x\nfn a() -> [u8; 2] {\n    let s = \"}\";\n    // }\n    [b'}', 1]\n}\n\
                trait T { fn b(&self); fn c(&self) { '}'; } }\n";
    assert_eq!(found("a.rs", text), [("a".into(), 2, 5), ("c".into(), 7, 1)]);
}

#[test]
fn c_functions_are_counted_and_tables_are_not() {
    let text = "/* x */\n#define F(x) { \\\n  x }\nstatic const int t[] = { 1 };\nstruct s {\n\tint a;\n};\n\
                static int\nf(struct s *s)\n{\n\treturn '}';\n}\n\
                SEC(\"struct_ops\")\nvoid BPF_PROG(g, int a)\n{\n}\n\
                CCA_OP(void, h, struct sock *sk)\n{\n}\n";
    let got = found("a.c", text);
    assert_eq!(got, [("f".into(), 9, 4), ("g".into(), 14, 3), ("h".into(), 17, 3)]);
}

#[test]
fn python_functions_are_counted_without_their_docstring() {
    let text = "\"\"\"x\"\"\"\nclass A:\n    def f(\n        self,\n    ) -> int:\n        \"\"\"Say\n\nmore.\n        \"\"\"\n        \
                return 1\n\n    def g(self): ...\n\nX = 1\n";
    assert_eq!(found("a.py", text), [("f".into(), 3, 4), ("g".into(), 12, 1)]);
}

#[test]
fn a_function_of_71_lines_is_an_error_and_one_of_70_is_not() {
    let text = |lines: usize| format!("//! x\nfn f() {{\n{}}}\n", "    g();\n".repeat(lines - 2));
    assert!(errors("f.rs", &text(70)).is_empty());
    assert_eq!(errors("f.rs", &text(71)), ["function `f` has 71 lines, budget 40, limit 70"]);
}

#[test]
fn a_file_of_801_lines_is_an_error() {
    assert!(errors("f.py", &format!("\"\"\"x\"\"\"\n{}", "a = 1\n".repeat(799))).is_empty());
    assert_eq!(errors("f.py", &format!("\"\"\"x\"\"\"\n{}", "a = 1\n".repeat(800))).len(), 1);
}

#[test]
fn a_source_file_must_say_what_it_is() {
    for (path, text) in [
        ("a.rs", "use std::fmt;\n"),
        ("a.c", "// SPDX-License-Identifier: MIT\n#include \"cca.h\"\n"),
        ("a.py", "#!/usr/bin/env python3\nimport os\n"),
        ("a.sh", "#!/bin/sh\nset -e\n"),
        ("a.py", ""),
    ] {
        let errors = errors(path, text);
        assert!(errors.len() == 1 && errors[0].starts_with("does not open"), "{path}: {errors:?}");
    }
    let c = "// SPDX-License-Identifier: MIT\n/* Reno. */\n";
    assert!(errors("a.c", c).is_empty());
}

#[test]
fn unfinished_work_and_empty_names_are_errors() {
    let mark = concat!("TO", "DO");
    assert_eq!(errors("a.rs", &format!("//! x\n// {mark} later\n")).len(), 1);
    assert_eq!(errors("a.rs", "//! x\nfn get_rate() {}\n").len(), 1);
    assert_eq!(errors("a.rs", "//! x\npub struct FlowManager;\n").len(), 1);
    assert_eq!(errors("utils.py", "\"\"\"x\"\"\"\n").len(), 1);
    assert!(errors("a.rs", "//! x\nfn utilization() {}\nfn target() {}\n").is_empty());
}

#[test]
fn machine_paths_and_host_names_are_errors() {
    let path = ["see ", "/home", "/me/x\n"].concat();
    assert_eq!(errors("a.md", &path).len(), 1);
    assert!(errors("a.md", "a/home/b, https://example.org/home/x and /usr/bin/env\n").is_empty());
    let lock = ["x @ https:", "//example.org/x.whl\n"].concat();
    assert_eq!(errors("requirements.lock", &lock), ["host name in a lock file"]);
    let cargo = "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
    assert!(errors("Cargo.lock", cargo).is_empty());
}

#[test]
fn a_rust_file_that_nothing_declares_is_an_error() {
    let file = |path: &str, text: &str| Source::new(path, text.to_string());
    let lib = file("crates/a/src/lib.rs", "//! x\npub mod used;\n");
    let sources =
        [lib, file("crates/a/src/used.rs", "//! x\n"), file("crates/a/src/lost.rs", "//! x\n")];
    let found = tidy::findings(&sources);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path, "crates/a/src/lost.rs");
}

/// The circles among these files.
fn circles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let sources: Vec<Source> =
        files.iter().map(|(path, text)| Source::new(path, (*text).to_string())).collect();
    circles(&sources)
}

#[test]
fn headers_that_include_each_other_are_a_circle() {
    let files = [
        ("cca/bbr1/core.h", "#include \"model.h\"\n"),
        ("cca/bbr1/model.h", "#include \"../bbr2/path.h\"\n"),
        ("cca/bbr2/path.h", "#include \"../bbr1/core.h\"\n#include \"kernel.h\"\n"),
        ("cca/include/kernel.h", ""),
    ];
    let circle = ["cca/bbr1/core.h", "cca/bbr1/model.h", "cca/bbr2/path.h"];
    assert_eq!(circles_of(&files), [circle]);
    assert!(circles_of(&files[1..]).is_empty());
}

#[test]
fn python_imports_inside_functions_make_no_circle() {
    let one = ("python/dumbbell/runs/one.py", "from dumbbell.scenario import two\n");
    for (import, count) in [
        ("from ..runs.one import (\n    Thing,\n)\n", 1),
        ("from dumbbell.runs import one\n", 1),
        ("def later():\n    from dumbbell.runs import one\n", 0),
        ("if TYPE_CHECKING:\n    from ..runs.one import Thing\n", 0),
    ] {
        let files = [one, ("python/dumbbell/scenario/two.py", import)];
        assert_eq!(circles_of(&files).len(), count, "{import}");
    }
}

#[test]
fn rust_modules_that_use_each_other_are_a_circle_but_for_their_tests() {
    let link = "use crate::{\n    a::b,\n    route::{Hop, Stage},\n};\n";
    let lib = ("crates/path/src/lib.rs", "mod link;\nmod route;\n");
    let route = |text| [lib, ("crates/path/src/link.rs", link), ("crates/path/src/route.rs", text)];
    for (text, count) in [
        ("use super::link::Link;\n", 1),
        ("fn f() { crate::link::f() }\n", 1),
        ("// crate::link::f\n", 0),
        ("fn f() {}\n#[cfg(test)]\nmod tests {\n    use crate::link::Link;\n}\n", 0),
    ] {
        assert_eq!(circles_of(&route(text)).len(), count, "{text}");
    }
}

#[test]
fn the_types_of_a_plan_are_those_of_the_structs_that_the_engine_parses() {
    let written = |form| xtask::plan::file(&source::root(), form).expect("the sources of a plan");
    let types = written(xtask::plan::Form::Types);
    for line in [
        "class Plan(TypedDict):",
        "    links: list[LinkPlan]",
        "    measure: MeasurePlan | None",
        "    steps: list[tuple[int, int]]",
        "    params: dict[str, int]",
        "    direction: NotRequired[str]",
        "    workload: Settings | None",
    ] {
        assert!(types.contains(&format!("{line}\n")), "{line}");
    }
    let fields = written(xtask::plan::Form::Fields);
    for line in [
        "class Plan(View, frozen=True, kw_only=True):",
        "    links: tuple[Link, ...]",
        "    measure: Window | None = None",
        "    duration_ns: Count",
        "    header_bytes: Count = 14",
        "    shared_receiver: bool = True",
        "    direction: str = \"down\"",
        "    workload: Any = None",
    ] {
        assert!(fields.contains(&format!("{line}\n")), "{line}");
    }
}
