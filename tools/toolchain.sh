#!/bin/sh
# Prints the toolchain of rustup that has the pinned version under another name (as `stable`), where the pinned one is
# not installed by its own name: then rustup would load it, and fail without a network. Prints nothing otherwise.
cd "$(dirname "$0")/.." || exit 1
command -v rustup > /dev/null || exit 0
pinned=$(sed -n 's/^channel = "\(.*\)"$/\1/p' rust-toolchain.toml)
installed=$(rustup toolchain list | sed 's/ .*//')
echo "$installed" | grep -q "^$pinned-" && exit 0
for name in $installed; do
  [ "$(RUSTUP_TOOLCHAIN=$name rustc --version | cut -d ' ' -f 2)" = "$pinned" ] && echo "$name" && exit 0
done
exit 0
