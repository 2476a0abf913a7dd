#!/bin/bash
# Builds dumbbell.cc into BUILD/dumbbell against the ns-3 of the Python registry, whose wheel holds
# headers and libraries. That wheel has asserts and logs compiled in: it is not ns-3's full speed.
#   usage: build.sh BUILD      (PYTHON: the interpreter to make a virtual environment with)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1
mkdir -p "$build"

if [ "$build/dumbbell" -nt "$here/dumbbell.cc" ] && [ "$build/dumbbell" -nt "$here/requirements.lock" ]; then
  exit 0
fi
"${PYTHON:-python3}" -m venv "$build/venv"
"$build/venv/bin/python" -m pip install --quiet --require-hashes --no-deps --only-binary :all: \
  -r "$here/requirements.lock"
ns3=$("$build/venv/bin/python" -c \
  'import importlib.util as u; print(u.find_spec("ns3").submodule_search_locations[0])')
version=$(ls "$ns3/lib64" | sed -n 's/^libns\(3\.[0-9]*\)-core\.so$/\1/p')
libraries=()
for module in core network internet point-to-point applications traffic-control nix-vector-routing; do
  libraries+=("-lns$version-$module")
done
c++ -std=c++20 -O3 -march=native -I"$ns3/include" "$here/dumbbell.cc" -o "$build/dumbbell.new" \
  -L"$ns3/lib64" -Wl,-rpath,"$ns3/lib64" -Wl,--allow-shlib-undefined "${libraries[@]}"
mv "$build/dumbbell.new" "$build/dumbbell"
