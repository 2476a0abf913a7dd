#!/bin/bash
# Runs the tests of the crates with the C of the controllers under the address and the undefined-behaviour sanitizer (gcc's).
# Rust's allocations go through the sanitizer's malloc, so that C which leaves the memory that Rust gave it
# is caught at the border. All crates but those on top of the C are those of the other tests.
set -eu

host=$(rustc -vV | sed -n 's/^host: //p')
# Controllers that the tests compile are sanitized as well.
export CCA_SANITIZE=1
# The address sanitizer wants to be the first library of a process.
runner=CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$host")_RUNNER
declare -x "$runner=env LD_PRELOAD=$("${CC:-cc}" -print-file-name=libasan.so)"
# The tables of controllers live as long as the process; leaks elsewhere are Rust's to prevent.
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1
exec cargo test --no-fail-fast --features dumbbell-cca/sanitize "$@"
