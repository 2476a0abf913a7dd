//! BPF programs of a congestion control (`SEC(".struct_ops")`), as the kernel's selftests have them: C that is compiled for
//! this machine with headers of the same names (`cca/hosts/struct_ops`), and run as a module is.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

use crate::complaint::Refused;
use crate::embedded::text_of;
use crate::job::{BuildError, Built, Form, Job};
use crate::lacking::missing_name;

/// Headers that only BPF programs include.
const HEADERS: [&str; 5] =
    ["vmlinux.h", "bpf_helpers.h", "bpf_tracing.h", "bpf_tcp_helpers.h", "bpf_tracing_net.h"];
/// How often the compiler is asked for what else is to be given.
const ROUNDS_MAX: usize = 8;
/// What a BPF program is said to be.
const WHAT: &str = "a BPF program (SEC(\".struct_ops\"))";

/// Is this the text of a BPF program?
#[must_use]
pub fn is_program(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start();
        let include = line.strip_prefix('#').map(str::trim_start);
        let file = include.and_then(|line| line.strip_prefix("include"));
        file.is_some_and(|file| HEADERS.iter().any(|header| file.contains(header)))
            || line.contains("SEC(\".struct_ops")
            || line.contains("SEC(\"struct_ops")
    })
}

/// `cong_control()` has two arguments, as before Linux 6.10: what the program writes for it has no `flag`.
fn has_old_control(text: &str) -> bool {
    let Some((_, hook)) = text.split_once(".cong_control") else { return false };
    let hook = hook.split([',', '}']).next().unwrap_or_default();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let Some(name) = hook.split(|c| !is_part(c)).rfind(|word| !word.is_empty()) else {
        return false;
    };
    text.match_indices(name).any(|(at, _)| {
        let rest = text[at + name.len()..].trim_start();
        let rest = rest.strip_prefix(',').or_else(|| rest.strip_prefix('(')).unwrap_or("");
        let arguments = rest.split(')').next().unwrap_or_default();
        arguments.contains("rate_sample") && arguments.matches(',').count() == 1
    })
}

impl Job<'_> {
    /// Compiles a BPF program.
    pub(crate) fn program(&self) -> Result<Built, BuildError> {
        let form = Form::of(self.text, has_old_control(self.text));
        let object = self.out.join("program.o");
        self.compile_program(form, &object)?;
        let names = self.struct_ops_of(&object)?;
        let list = self.out.join("cca/hosts/struct_ops/list.c");
        fs::write(&list, list_of(&names)).map_err(|e| BuildError::new(e.to_string()))?;
        let parts = [
            "module/module",
            "module/param",
            "module/memory",
            "struct_ops/host",
            "struct_ops/map",
            "struct_ops/list",
        ];
        self.link_with(vec![object], &parts, form)
    }

    /// Compiles it with what it uses and does not define.
    fn compile_program(&self, form: Form, object: &Path) -> Result<(), BuildError> {
        let there: Vec<&str> = givable().collect();
        let mut given = BTreeSet::new();
        for _ in 0..ROUNDS_MAX {
            let mut cc = self.program_cc(form, &given);
            cc.arg("-MMD").arg("-c").arg(self.source).arg("-o").arg(object);
            let Err(refused) = self.run(cc) else { return Ok(()) };
            let before = given.len();
            given.extend(missing(&refused).filter(|name| there.contains(&name.as_str())));
            if given.len() == before {
                // A kernel does not compile it with its headers, so nobody is to say what those have.
                let error = self.lacking_error(&self.program_cc(form, &given), &refused);
                return Err(BuildError::new(error.to_string()));
            }
        }
        Err(BuildError::new(format!("{}: {WHAT} that does not compile", self.source.display())))
    }

    fn program_cc(&self, form: Form, given: &BTreeSet<String>) -> Command {
        let mut cc = self.kernel_cc(form);
        cc.args(["-Wno-attributes", "-D__TARGET_ARCH_x86"])
            .arg("-isystem")
            .arg(self.out.join("struct_ops"));
        cc.args(given.iter().map(|name| format!("-DCCA_GIVE_{name}")));
        for header in ["vmlinux.h", "given.h"] {
            cc.arg("-include").arg(self.out.join("cca/hosts/struct_ops").join(header));
        }
        cc
    }

    /// Names of the structs in `SEC(".struct_ops")` or `SEC(".struct_ops.link")`.
    fn struct_ops_of(&self, object: &Path) -> Result<Vec<String>, BuildError> {
        let wrong = |text: String| BuildError::new(format!("{}: {text}", self.source.display()));
        let bytes = fs::read(object).map_err(|e| wrong(e.to_string()))?;
        let file = object::File::parse(&*bytes).map_err(|e| wrong(e.to_string()))?;
        let mut names = Vec::new();
        for symbol in file.symbols().filter(|symbol| symbol.kind() == object::SymbolKind::Data) {
            let section = symbol.section_index().and_then(|at| file.section_by_index(at).ok());
            let section = section.as_ref().and_then(|found| found.name().ok()).unwrap_or_default();
            if !section.trim_start_matches('?').starts_with(".struct_ops") {
                continue;
            }
            let name = symbol.name().unwrap_or_default();
            if symbol.is_local() {
                return Err(wrong(format!(
                    "{WHAT} whose struct `{name}` is static, wanted one that is not"
                )));
            }
            names.push(name.to_owned());
        }
        if names.is_empty() {
            return Err(wrong(
                "a BPF program without a struct tcp_congestion_ops in SEC(\".struct_ops\"), so no congestion control; \
                 docs/own-controller.md says what is read"
                    .to_owned(),
            ));
        }
        Ok(names)
    }
}

/// The names that an error each is of.
fn missing(refused: &Refused) -> impl Iterator<Item = String> + '_ {
    refused.lines().filter_map(|line| missing_name(line).map(|(name, _)| name))
}

/// What `given.h` has.
fn givable() -> impl Iterator<Item = &'static str> {
    text_of("hosts/struct_ops/given.h")
        .lines()
        .filter_map(|line| line.strip_prefix("#ifdef CCA_GIVE_"))
}

/// C that lists the structs for host.c.
fn list_of(names: &[String]) -> String {
    let declared = names.iter().map(|name| format!("extern struct tcp_congestion_ops {name};\n"));
    let listed = names.iter().map(|name| format!("&{name}, "));
    format!(
        "#include \"../module/kernel_module.h\"\n{}struct tcp_congestion_ops *const cca_struct_ops[] = {{ {}NULL }};\n",
        declared.collect::<String>(),
        listed.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_by_its_headers_and_sections() {
        for text in [
            "#include \"vmlinux.h\"",
            "# include <bpf/bpf_helpers.h>",
            "int x;\nSEC(\".struct_ops\") struct tcp_congestion_ops a;",
            "SEC(\"struct_ops/init\") void f(void);",
            "#include \"bpf_tcp_helpers.h\"",
        ] {
            assert!(is_program(text), "{text}");
        }
        for text in ["#include <linux/bpf.h>", "#include <net/tcp.h>", "/* vmlinux.h */", ""] {
            assert!(!is_program(text), "{text}");
        }
    }

    #[test]
    fn the_arguments_of_cong_control_tell_the_kernel() {
        let with = |arguments: &str| {
            format!(
                "SEC(\"struct_ops\") void BPF_PROG(mine_main, {arguments}) {{ }}\n\
                 struct tcp_congestion_ops mine = {{ .cong_control = (void *)mine_main, .name = \"mine\" }};"
            )
        };
        assert!(has_old_control(&with("struct sock *sk, const struct rate_sample *rs")));
        let new = "struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs";
        assert!(!has_old_control(&with(new)));
        assert!(!has_old_control("int x;"));
    }
}
