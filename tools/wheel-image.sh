#!/bin/sh
# What the images of manylinux and musllinux lack to build a wheel: the compiler of rust-toolchain.toml, clang for
# controllers in the kernel, headers of libelf and zlib. cibuildwheel runs it.
set -eu
if command -v dnf > /dev/null; then
  dnf -y -q install clang elfutils-libelf-devel zlib-devel
else
  apk add --quiet clang elfutils-dev zlib-dev linux-headers
fi
curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --quiet --profile minimal --default-toolchain none
"$HOME/.cargo/bin/rustup" toolchain install
