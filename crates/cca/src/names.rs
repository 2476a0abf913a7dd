//! What a kernel calls our controllers, loaded by BPF or as modules.

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
