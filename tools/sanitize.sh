#!/bin/bash
# Runs the tests of the controllers, and of what calls them, with the C under the address and the
# undefined-behaviour sanitizer. Rust's allocations go through the sanitizer's malloc, so that C which
# leaves the memory that Rust gave it is caught at the border.
set -eu

host=$(rustc -vV | sed -n 's/^host: //p')
export CCA_SANITIZE=1
# With --target the flags reach what runs, and not the build scripts. rustc links without the compiler's
# default libraries, so the runtimes are named, and loaded first as the address sanitizer wants.
export RUSTFLAGS="-Clink-arg=-lasan -Clink-arg=-lubsan"
runner=CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$host")_RUNNER
declare -x "$runner=env LD_PRELOAD=$("${CC:-cc}" -print-file-name=libasan.so)"
# The tables of controllers live as long as the process; leaks elsewhere are Rust's to prevent.
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1
exec cargo test --locked --no-fail-fast --target "$host" --target-dir "${CARGO_TARGET_DIR:-target}/sanitize" "$@"
