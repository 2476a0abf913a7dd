#!/bin/bash
# tools/idle.sh COMMAND...: runs a command on processor time that nobody else wants, and passes its exit status on.
# SCHED_IDLE orders tasks of one session only, because Linux shares a processor among sessions first (autogroup). So the
# command has a session of its own, with the smallest share. That session does not get Ctrl-C from a terminal: it is told.
# A shell lets what it puts into the background ignore SIGINT; the command does not, because tests interrupt programs.
set -u
if ! command -v chrt > /dev/null || ! command -v setsid > /dev/null; then exec "$@"; fi
env --default-signal=INT,QUIT setsid bash -c 'echo 19 2> /dev/null > /proc/self/autogroup; exec chrt --idle 0 "$@"' idle "$@" < /dev/null &
child=$!
trap 'kill -TERM -- "-$child"; wait "$child"; exit 143' INT TERM HUP
wait "$child"
