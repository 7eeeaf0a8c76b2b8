#!/bin/sh
# npm run fuzz [-- --runs N] [--seed S] [--target NAME] [--path P]: sets up as ./xfn does, then gives a million hostile
# inputs, or N, to everything that takes input.
set -eu
unset CDPATH
root=$(cd "$(dirname "$0")/.." && pwd -P)
. "$root/scripts/setup.sh"
setup writable

cd "$root"
export PATH="${node%/*}:$PATH"
exec "$node" test/fuzz/main.ts "$@"
