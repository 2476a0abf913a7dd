//! What the object of a controller in our style must not have: variables that change, and functions of a C library.
//! The simulator could run it; the kernel cannot, and flows of a run would share the variable.

use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SectionIndex};

/// What a compiler may call by itself.
const ALLOWED: [&str; 6] =
    ["memcpy", "memset", "memmove", "memcmp", "__stack_chk_fail", "_GLOBAL_OFFSET_TABLE_"];

/// A rule that an object breaks, with the symbol that it breaks it by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// A variable that is not constant.
    Variable(String),
    /// A function that is somewhere else.
    Missing(String),
}

impl Broken {
    /// The symbol.
    pub(crate) fn symbol(&self) -> &str {
        match self {
            Self::Variable(symbol) | Self::Missing(symbol) => symbol,
        }
    }
}

/// The first rule that an object file breaks; none of one that cannot be read, which the linker will tell.
pub(crate) fn broken(object: &[u8]) -> Option<Broken> {
    let file = object::File::parse(object).ok()?;
    let name = |symbol: &object::Symbol<'_, '_>| symbol.name().unwrap_or_default().to_owned();
    let changes =
        |at: SectionIndex| file.section_by_index(at).is_ok_and(|found| may_change(&found));
    let variable = file.symbols().find(|symbol| {
        let is_common = symbol.is_common();
        is_common || (symbol.size() > 0 && symbol.section_index().is_some_and(changes))
    });
    if let Some(symbol) = variable {
        return Some(Broken::Variable(variable_of(&name(&symbol)).to_owned()));
    }
    let missing = file.symbols().filter(|symbol| symbol.is_undefined()).map(|symbol| name(&symbol));
    missing
        .filter(|name| !name.is_empty() && !ALLOWED.contains(&name.as_str()))
        .find(|name| !name.starts_with("__ubsan_"))
        .map(Broken::Missing)
}

/// May what a section holds be written once it is loaded? Constants with addresses are in `.data.rel.ro`.
fn may_change(section: &object::Section<'_, '_>) -> bool {
    let SectionFlags::Elf { sh_flags } = section.flags() else { return false };
    let is_written = sh_flags & u64::from(object::elf::SHF_WRITE) != 0;
    let name = section.name().unwrap_or_default();
    is_written && !name.starts_with(".data.rel.ro") && !name.starts_with(".init_array")
}

/// The source's name of a variable: a static one in a function has a number behind it (gcc), or the function before it
/// (clang, with a number where there are several).
fn variable_of(symbol: &str) -> &str {
    let is_name = |part: &&str| !part.bytes().all(|byte| byte.is_ascii_digit());
    symbol.split('.').rfind(is_name).unwrap_or(symbol)
}

#[cfg(test)]
mod tests {
    use super::variable_of;

    #[test]
    fn a_static_variable_has_its_name_by_both_compilers() {
        for symbol in ["most", "most.0", "mine_ssthresh.most", "mine_ssthresh.most.3"] {
            assert_eq!(variable_of(symbol), "most");
        }
    }
}
