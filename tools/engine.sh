#!/bin/bash
# Compiles the engine into the virtual environment, and says meanwhile how far it is.
#   usage: engine.sh quick|quick-install|optimised
#
# quick          the simulator alone, in a minute or two: for a first picture (profile `quick` in Cargo.toml)
# quick-install  the package with it into the virtual environment, once its requirements are there
# optimised      all of it, with link-time optimisation and the compiler's profile: for work, wheels and benchmarks
set -eu -o pipefail
cd "$(dirname "$0")/.."

kind=$1
bin=.venv/bin
log=build/$kind.log
mkdir -p build

case $kind in
  quick)
    what="compiling the simulator: one to two minutes on two cores"
    features=(--no-default-features)
    build=("$bin/maturin" develop --skip-install --profile quick --locked "${features[@]}") ;;
  quick-install)
    what="installing the package"
    features=(--no-default-features)
    build=("$bin/maturin" develop --profile quick --locked "${features[@]}") ;;
  optimised)
    what="compiling the engine: five to ten minutes on two cores"
    build=("$bin/python" tools/pgo.py run "$bin/maturin" develop --release --locked)
    features=()
    tools/system-packages.sh clang || echo "no clang: controllers for the kernel are not built" >&2
    if ! tools/system-packages.sh libelf; then
      echo "no libelf: \`dumbbell kernel\` is not built" >&2
      features=(--no-default-features --features emulator)
      build+=("${features[@]}")
    fi ;;
  *) echo "usage: engine.sh quick|quick-install|optimised" >&2; exit 2 ;;
esac

# Says every ten seconds how many crates have been started; the last ones take longest.
watch() {
  local crates started=$SECONDS
  # Not before: it would hold the lock of what cargo downloads.
  until grep -q ' Compiling ' "$log"; do sleep 1; done
  crates=$(cargo tree --locked --package dumbbell-py "${features[@]}" --edges normal,build --prefix none --no-dedupe 2> "$log.tree" | sort -u | wc -l)
  while sleep 10; do
    echo "  $(grep -c ' Compiling ' "$log") of $crates crates after $((SECONDS - started)) s" >&2
  done
}

echo "$what (log: $log)" >&2
: > "$log"
watch & watcher=$!
trap 'kill "$watcher" 2> /dev/null || true' EXIT
status=0
VIRTUAL_ENV=$PWD/.venv "${build[@]}" > "$log" 2>&1 || status=$?
[ "$status" = 0 ] || cat "$log" >&2
exit "$status"
