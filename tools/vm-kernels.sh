#!/bin/bash
# Boots Debian's kernels in virtual machines (qemu; by TCG, which works everywhere, unless $DUMBBELL_ACCEL says kvm), and in each loads every controller; flows
# go through some of them on the oldest and the newest that can. Kernels before 6.4 must be refused, with the reason.
#   usage: vm-kernels.sh [PATTERN]    only kernels whose package's name matches this extended regular expression
# Packages come by apt from the machine's own mirrors, and are kept outside of the checkout, in $DUMBBELL_KERNELS
# (default: ~/.cache/dumbbell/kernels). Nothing is installed but qemu and cpio.
set -eu -o pipefail

cd "$(dirname "$0")/.."
pattern=${1:-.}
kernels=${DUMBBELL_KERNELS:-${XDG_CACHE_HOME:-$HOME/.cache}/dumbbell/kernels}
suites=${DUMBBELL_SUITES:-bookworm bookworm-backports trixie trixie-backports sid}
flows=${DUMBBELL_FLOWS:-bbr,bbr2,bbr3,cubic}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tools/system-packages.sh clang libelf qemu-system-x86_64 cpio

# What is installed on this machine, and where from, stays as it is.
apt=(-qq -o APT::Sandbox::User=root -o "Dir::Etc::sourcelist=$scratch/sources.list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$scratch/lists" -o "Dir::Cache=$scratch/cache")

sources() {
  local mirror
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security | head -n 1)
  [ -n "$mirror" ] || { echo "apt knows no mirror" >&2; exit 1; }
  mkdir -p "$scratch/lists/partial" "$scratch/cache/archives/partial"
  for suite in $suites; do echo "deb $mirror $suite main"; done >"$scratch/sources.list"
  apt-get "${apt[@]}" update || echo "some suites are not there" >&2
}

# The newest package of each version of Linux, oldest first.
newest_of_each() {
  apt-cache "${apt[@]}" pkgnames linux-image- | grep -E '^linux-image-[0-9]+\.[0-9]+\.[0-9][^-]*(-[0-9]+)?-cloud-amd64$' |
    sort -V | awk -F '[-.]' '{ newest[$3 "." $4] = $0 } END { for (version in newest) print newest[version] }' | sort -V | grep -E "$pattern"
}

# Path of the kernel of a package; newer ones have it in a package beside, linux-binary-....
image() {
  local into=$kernels/$1 package=linux-binary-${1#linux-image-} found
  if [ ! -f "$into" ]; then
    rm -rf "$into"
    apt-cache "${apt[@]}" show "$package" >/dev/null 2>&1 || package=$1
    (cd "$scratch" && apt-get "${apt[@]}" download "$package" >/dev/null && dpkg-deb -x "$package"_*.deb unpacked)
    found=$(find "$scratch/unpacked" -type f -name 'vmlinuz*' | head -n 1)
    [ -n "$found" ] || { echo "$package: has no kernel in it" >&2; return 1; }
    mkdir -p "$kernels"
    cp "$found" "$into.new" && mv "$into.new" "$into"
    rm -rf "$scratch/unpacked" "$scratch/$package"_*.deb
  fi
  echo "$into"
}

# The controllers, as the only program of a file system.
initramfs() {
  local program=target/release/examples/boot root=$scratch/root
  cargo build --quiet --release --locked -p dumbbell-bpf --example boot
  mkdir -p "$root/dev" "$root/tmp"
  cp "$program" "$root/init"
  # libelf and zlib are looked for when they are needed, by these names.
  local wanted
  wanted=$(/sbin/ldconfig -p | grep -oE '/[^ ]*/(libelf|libz)\.so\.1$')
  # shellcheck disable=SC2086
  { echo "$wanted"; ldd "$program" $wanted | grep -oE '/[^ :]*\.so[^ :]*'; } | sort -u | xargs -I{} cp --parents -L {} "$root"
  (cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) >"$scratch/initramfs"
}

boot() {
  # qemu 7.2 emulates cmpxchg16b wrongly (flags), and the kernel's allocator uses it where there is one.
  local accel=${DUMBBELL_ACCEL:-tcg}
  timeout 600 qemu-system-x86_64 -accel "$accel" -cpu max,cx16=off,la57=off -m 768 -nographic -no-reboot -kernel "$1" -initrd "$scratch/initramfs" \
    -append "console=ttyS0 loglevel=4 panic=-1 flows=$2" </dev/null | tr -d '\r' >"$scratch/console" || true
}

can_load() { [ "$(printf '%s\n6.4\n' "$1" | sort -V | head -n 1)" = 6.4 ]; }

# What the last boot must have said.
judge() {
  local result
  result=$(grep -o 'RESULT .*' "$scratch/console") || { tail -n 20 "$scratch/console" >&2; echo "$1: did not get to its end"; return 1; }
  if grep -E 'WARNING:|BUG:|Oops' "$scratch/console" >&2; then echo "$1: the kernel complains"; return 1; fi
  if can_load "$2"; then
    grep -E '^RESULT ([0-9]+) of \1, ' <<<"$result" >/dev/null || { grep FAILED "$scratch/console" >&2; echo "$1: $result"; return 1; }
    if [ -n "$3" ] && grep -q ', 0 flows' <<<"$result"; then echo "$1: no flow"; return 1; fi
  else
    grep -q 'RESULT 0 of' <<<"$result" && grep -q 'wanted Linux 6.4 or newer' "$scratch/console" || { echo "$1: was not refused: $result"; return 1; }
    result="refused, as it should be: $(grep -o 'it has no .*' "$scratch/console" | head -n 1)"
  fi
  echo "$1: ${result#RESULT }"
}

sources
mapfile -t packages < <(newest_of_each)
[ ${#packages[@]} -gt 0 ] || { echo "no kernel matches $pattern" >&2; exit 1; }
initramfs
can=()
for package in "${packages[@]}"; do
  version=${package#linux-image-}
  if can_load "${version%%-*}"; then can+=("$package"); fi
done
failed=0
for package in "${packages[@]}"; do
  version=${package#linux-image-}
  wanted=
  if [ ${#can[@]} -gt 0 ] && { [ "$package" = "${can[0]}" ] || [ "$package" = "${can[-1]}" ]; }; then wanted=$flows; fi
  kernel=$(image "$package") || { failed=1; continue; }
  boot "$kernel" "$wanted"
  judge "$package" "${version%%-*}" "$wanted" || failed=1
done
exit $failed
