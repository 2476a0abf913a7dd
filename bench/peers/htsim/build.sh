#!/bin/bash
# Builds dumbbell.cc into BUILD/dumbbell with the sources of a checkout of htsim, which stays as it is.
#   usage: build.sh HTSIM BUILD      (README.md says where HTSIM is from)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
sim=$1/sim
build=$2
test -e "$sim/eventlist.cpp" || { echo "no sim/eventlist.cpp in $1: not a checkout of csg-htsim" >&2; exit 1; }
mkdir -p "$build"

if [ "$build/dumbbell" -nt "$here/dumbbell.cc" ] && [ -z "$(find "$sim" -maxdepth 1 -newer "$build/dumbbell" -name '*.[ch]*')" ]; then
  exit 0
fi
sources=()
# What TcpSrc, Queue and Pipe need, directly or through each other.
for name in callback_pipe config eth_pause_packet eventlist fairpullqueue logfile loggers mtcp ndppacket network pipe queue \
  queue_lossless queue_lossless_input queue_lossless_output route routetable sent_packets switch tcp tcppacket; do
  sources+=("$sim/$name.cpp")
done
# The flags of htsim's Makefile; its warnings are not ours.
c++ -std=c++11 -O3 -w -I"$sim" "$here/dumbbell.cc" "${sources[@]}" -o "$build/dumbbell.new"
mv "$build/dumbbell.new" "$build/dumbbell"
