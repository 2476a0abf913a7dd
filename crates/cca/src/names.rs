//! What a kernel calls our controllers, loaded by BPF or as modules, and how messages show names.

/// Linux's own controllers (net/ipv4/tcp_*.c of 6.18), whether their modules are loaded or not.
const OF_LINUX: [&str; 17] = [
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// What the kernel calls the controller of this file name: `bbr_hsr` for `bbr-hsr`, because it refuses hyphens in names
/// from BPF, and `d_bbr` where Linux has one of that name.
#[must_use]
pub fn kernel_name(name: &str) -> String {
    if OF_LINUX.contains(&name) {
        return prefixed_name(name);
    }
    name.replace('-', "_")
}

/// A name that is never Linux's own.
#[must_use]
pub fn prefixed_name(name: &str) -> String {
    format!("d_{}", name.replace('-', "_"))
}

/// Letters of a given value that a message shows; Python's messages have the same limit.
const SHOWN_MAX: usize = 60;

/// A value that a person gave, as a message shows it.
#[must_use]
pub fn shown(given: &str) -> String {
    if given.chars().count() <= SHOWN_MAX {
        return given.to_owned();
    }
    given.chars().take(SHOWN_MAX - 3).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_cut_values_of_more_than_sixty_letters() {
        let longest = "ü".repeat(60);
        assert_eq!(shown(&longest), longest);
        assert_eq!(shown(&"ü".repeat(61)), format!("{}...", "ü".repeat(57)));
    }
}
