#!/bin/sh
# npm run vectors [-- DIR] [--all] [--case NAME] [--group NAME]: sets up as ./xfn does, then runs a folder of
# conformance vectors, test/vectors unless another is given.
# npm run vectors -- --mutate N [--seed S] [--keep DIR]: runs N cases that are derived from them.
set -eu
unset CDPATH
root=$(cd "$(dirname "$0")/.." && pwd -P)
. "$root/scripts/setup.sh"
setup development

# npm runs scripts at the root: resolve DIR from the user's directory.
cd "${INIT_CWD:-$PWD}"
export PATH="${node%/*}:$PATH"
exec "$node" "$root/test/vectors/main.ts" "$@"
