#!/bin/bash
# Makes sure that the system programs named as arguments are there. Installs what is missing on Debian
# and Ubuntu as root; elsewhere names it and fails.
#   usage: system-packages.sh venv|cc|clang|llvm|clang-format|libbpf|libelf|iproute2|iperf3|bpftool|tshark|valgrind|perf|torch|ns2|netcat-openbsd|openssh-server|chromium|uml...
set -eu

is_there() {
  case $1 in
    venv) "${PYTHON:-python3}" -c "import ensurepip, venv" ;;
    cc) command -v cc ;;
    clang) command -v clang ;;
    llvm) command -v llvm-ar ;;
    clang-format) command -v clang-format ;;
    libbpf) test -e /usr/include/bpf/bpf_helpers.h ;;
    libelf) pkg-config --exists libelf zlib ;;
    iproute2) command -v ip && command -v ss && command -v tc ;;
    uml) for name in make bc bison flex xz setarch ip tc ethtool dpkg-deb; do command -v $name || test -x "/usr/sbin/$name" || return 1; done &&
      test -e /usr/lib/x86_64-linux-gnu/libc.a && apt-cache pkgnames linux-source- | grep -q . ;;
    openssh-server) command -v ssh && test -x /usr/sbin/sshd ;;
    chromium) command -v chromium-headless-shell || command -v chromium ;;
    netcat-openbsd) command -v nc.openbsd ;;
    perf) perf --version ;;
    torch) /usr/bin/python3 -c "import torch" ;;
    ns2) command -v ns ;;
    iperf3 | bpftool | tshark | valgrind | cpio | qemu-system-x86_64) command -v "$1" || test -x "/usr/sbin/$1" ;;
    *) echo "unknown program: $1" >&2; exit 2 ;;
  esac
}

debian_package() {
  case $1 in
    venv) echo python3-venv ;;
    cc) echo build-essential ;;
    libbpf) echo libbpf-dev ;;
    perf) echo linux-perf ;;
    torch) echo python3-torch ;;
    qemu-system-x86_64) echo qemu-system-x86 ;;
    libelf) echo libelf-dev zlib1g-dev pkg-config ;;
    uml) echo gcc libc6-dev make bc bison flex xz-utils iproute2 ethtool ;;
    openssh-server) echo openssh-server openssh-client ;;
    chromium) echo chromium-headless-shell fonts-dejavu-core ;;
    *) echo "$1" ;;
  esac
}

missing=()
packages=()
for program in "$@"; do
  if ! is_there "$program" >/dev/null 2>&1; then
    missing+=("$program")
    read -ra names <<<"$(debian_package "$program")"
    packages+=("${names[@]}")
  fi
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "installing ${packages[*]}" >&2
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq >&2
  apt-get install -qq -y --no-install-recommends "${packages[@]}" >&2
else
  echo "missing on this system: ${missing[*]}" >&2
  echo "on Debian or Ubuntu: sudo apt-get install ${packages[*]}" >&2
  exit 1
fi
