#!/bin/sh
# npm run check: sets up as ./xfn does, then runs all static checks.
set -eu
unset CDPATH
root=$(cd "$(dirname "$0")/.." && pwd -P)
. "$root/scripts/setup.sh"
setup development
need_home

cd "$root"
export PATH="${node%/*}:$root/node_modules/.bin:$PATH"
export TURBO_TELEMETRY_DISABLED=1
exec turbo run check:format check:lint check:types check:unused check:sources check:prose check:reference check:models check:deploy check:packages check:lock \
  --continue=always --output-logs=errors-only --log-order=grouped "$@"
