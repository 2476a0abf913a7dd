#!/bin/bash
# Runs cargo-deny on the crates of Cargo.lock, with what deny.toml says; installs it where this version is not there.
#   usage: deny.sh check licenses|bans|sources|advisories...
set -eu
cd "$(dirname "$0")/.."
version=0.20.2
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
if [ "$(cargo-deny --version 2> /dev/null)" != "cargo-deny $version" ]; then
  PATH=$PWD/build/cargo-deny/bin:$PATH
fi
if [ "$(cargo-deny --version 2> /dev/null)" != "cargo-deny $version" ]; then
  echo "installing cargo-deny $version (log: build/cargo-deny.log)" >&2
  mkdir -p build
  # Compiled apart from ours, and quickly: it runs for a second.
  CARGO_TARGET_DIR=build/cargo-deny/target CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=0 \
    CARGO_PROFILE_RELEASE_CODEGEN_UNITS=256 CARGO_PROFILE_RELEASE_STRIP=true \
    cargo install --quiet --locked --version "$version" --root build/cargo-deny cargo-deny \
    > build/cargo-deny.log 2>&1 || { tail -20 build/cargo-deny.log >&2; exit 1; }
  rm -rf build/cargo-deny/target
fi
cargo-deny --locked --log-level error "$@"
