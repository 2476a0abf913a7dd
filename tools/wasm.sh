#!/bin/bash
# The playground in build/playground (docs/playground.md): the engine compiled to WebAssembly with the pinned compiler, the
# workers of web/src/playground, Pyodide and the package. Needs rustup, for the target's standard library, and Node 20.
#   usage: wasm.sh
set -eu
cd "$(dirname "$0")/.."
target=wasm32-wasip1
out=build/playground

tools/system-packages.sh clang llvm
rustup target add "$target" ${RUSTUP_TOOLCHAIN:+--toolchain "$RUSTUP_TOOLCHAIN"} 2> /dev/null ||
  { echo "the playground needs the target $target of Rust: rustup target add $target" >&2; exit 1; }
export CC_wasm32_wasip1=clang AR_wasm32_wasip1=llvm-ar
# What a panic says names no folder of the machine that compiles.
export RUSTFLAGS="--remap-path-prefix=$PWD=dumbbell --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"
cargo build --locked --quiet --profile wasm --target "$target" --package dumbbell-wasm

mkdir -p "$out"
cp "${CARGO_TARGET_DIR:-target}/$target/wasm/dumbbell_wasm.wasm" "$out/engine.wasm"
tools/web.sh packages
(cd web/pyodide && npm ci --ignore-scripts --silent)
(cd web && node playground.mjs "../$out")
.venv/bin/python tools/playground.py
du -sh "$out" | cut -f1
