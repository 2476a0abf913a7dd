//! How controllers are compiled for BPF, built in (by the build script) and a user's own alike.

/// Arguments of clang; `cca/Makefile` has the same. The architecture is only for libbpf's register names, which
/// controllers do not use.
pub const CLANG_FLAGS: [&str; 9] = [
    "-O2",
    "-g",
    "-target",
    "bpf",
    "-mcpu=v3",
    "-std=gnu11",
    "-Wall",
    "-Werror=implicit-function-declaration",
    "-D__TARGET_ARCH_x86",
];
