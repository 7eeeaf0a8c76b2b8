#!/bin/sh
# npm run fuzz [-- --runs N] [--seed S] [--target NAME] [--path P]: sets up as ./xfn does, then feeds N hostile inputs,
# by default a million, to every reader.
set -eu
unset CDPATH
root=$(cd "$(dirname "$0")/.." && pwd -P)
. "$root/scripts/setup.sh"
setup writable

cd "$root"
export PATH="${node%/*}:$PATH"
exec "$node" test/fuzz/main.ts "$@"
