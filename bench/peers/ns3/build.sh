#!/bin/bash
# Builds dumbbell.cc into BUILD/dumbbell: against the optimised build of a checkout of ns-3 (README.md says where it is
# from), which is made there if it is missing, or against the ns-3 of the Python registry, whose wheel holds headers and
# libraries. That wheel has asserts and logs compiled in: it is not ns-3's full speed.
#   usage: build.sh BUILD [CHECKOUT]      (PYTHON: the interpreter to make a virtual environment with)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1
checkout=${2:-}
modules=(core network internet point-to-point applications traffic-control nix-vector-routing)
mkdir -p "$build"

# Sets `ns3`, the folder with headers and libraries, `libraries`, `prefix` and `suffix` of their names, and `standard`.
of_checkout() {
  test -x "$checkout/ns3" || { echo "no program ns3 in $checkout: not a checkout of ns-3" >&2; exit 1; }
  ns3=$checkout/build libraries=$checkout/build/lib suffix=-optimized standard=c++23
  prefix=ns$(cut -d- -f1 "$checkout/VERSION")-
  if ! test -e "$libraries/lib$prefix${modules[-1]}$suffix.so"; then
    list=$(IFS=,; echo "${modules[*]}")
    (cd "$checkout" && ./ns3 configure -d optimized --disable-python --enable-modules="$list" && ./ns3 build) >&2
  fi
}

of_registry() {
  "${PYTHON:-python3}" -m venv "$build/venv"
  "$build/venv/bin/python" -m pip install --quiet --require-hashes --no-deps --only-binary :all: \
    -r "$here/requirements.lock"
  ns3=$("$build/venv/bin/python" -c \
    'import importlib.util as u; print(u.find_spec("ns3").submodule_search_locations[0])')
  libraries=$ns3/lib64 suffix='' standard=c++20
  prefix=ns$(ls "$libraries" | sed -n 's/^libns\(3\.[0-9]*\)-core\.so$/\1/p')-
}

if [ -n "$checkout" ]; then
  of_checkout
elif [ "$build/dumbbell" -nt "$here/dumbbell.cc" ] && [ "$build/dumbbell" -nt "$here/requirements.lock" ]; then
  exit 0
else
  of_registry
fi
links=()
for module in "${modules[@]}"; do
  links+=("-l$prefix$module$suffix")
done
c++ -std=$standard -O3 -march=native -I"$ns3/include" "$here/dumbbell.cc" -o "$build/dumbbell.new" \
  -L"$libraries" -Wl,-rpath,"$libraries" -Wl,--allow-shlib-undefined "${links[@]}"
mv "$build/dumbbell.new" "$build/dumbbell"
