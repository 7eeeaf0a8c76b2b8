#!/bin/sh
# npm run fuzz [-- --runs N] [--seed S] [--target NAME] [--path P]: sets up as ./xfn does, then feeds N hostile inputs,
# by default a million, to every reader. npm run fuzz -- hostile-servers [TEXT] calls hostile servers with all clients.
# npm run fuzz -- cel [--rules N] [--seed S]: compares N rules, by default 10,000, with a real API server.
set -eu
unset CDPATH
root=$(cd "$(dirname "$0")/.." && pwd -P)
. "$root/scripts/setup.sh"
setup development

cd "$root"
export PATH="${node%/*}:$PATH"
# The comparison with an API server has a program of its own.
if [ "${1:-}" = cel ]; then exec "$node" test/fuzz/cel/main.ts "$@"; fi
# Half of the 256 MiB that the clients of hostile servers may take is for V8's old objects, and 48 MiB for young ones.
# V8's default of 192 MiB for young objects would exceed the bound. Besides, V8 collects garbage without a pause while
# less than a third of that is free for old objects.
if [ "${1:-}" = hostile-servers ]; then
  shift
  exec "$node" --max-old-space-size=128 --max-semi-space-size=16 test/fuzz/hostile-servers/clients.ts "$@"
fi
exec "$node" test/fuzz/main.ts "$@"
