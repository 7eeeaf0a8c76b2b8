#!/bin/sh
# npm run sweep [-- --seed N] [--schedules N] [--sample N] [--scenario TEXT] [--case TEXT]: sets up as ./xfn does,
# builds an API server if there is none, then crashes the controllers at each of their writes and checks the outcome.
set -eu
unset CDPATH
root=$(cd "$(dirname "$0")/.." && pwd -P)
. "$root/scripts/setup.sh"
setup development

cd "$root"
export PATH="${node%/*}:$PATH"
"$node" scripts/api-server.ts
exec "$node" test/sweep/main.ts "$@"
