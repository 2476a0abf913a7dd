#!/bin/bash
# The pages of `dumbbell report` and `dumbbell serve`: builds them from web/ into python/dumbbell/page, or checks that what is there is fresh.
# `packages` only fetches what it needs, for the tests. Only developers need Node; where it is missing, this says so, and
# checks fail in CI only.
#   usage: web.sh packages|build|check
set -eu
cd "$(dirname "$0")/../web"

if ! command -v npm >/dev/null; then
  echo "web/: cannot $1: there is no npm (Node 20 or later)" >&2
  [ "$1" != build ] && [ -z "${CI:-}" ] && exit 0
  exit 1
fi
# Where a lock file has not changed, its packages are there already.
if ! cmp -s package-lock.json node_modules/.dumbbell-lock; then
  npm ci --ignore-scripts --silent
  cp package-lock.json node_modules/.dumbbell-lock
fi
case $1 in
  packages) ;;
  build) node build.mjs ;;
  check) npx tsc --noEmit && npx prettier --log-level warn --check . && node build.mjs --check ;;
  *) echo "usage: web.sh packages|build|check" >&2; exit 2 ;;
esac
