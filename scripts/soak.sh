#!/bin/sh
# npm run soak [-- --calls N] [--concurrency N] [--warm-pool POLICY] [--served] [--memory SIZE]: sets up as ./xfn does,
# then makes 100,000 calls, or N, a fifth of them faulty, to xfn-runner with real containers, and looks for leaks.
set -eu
unset CDPATH
root=$(cd "$(dirname "$0")/.." && pwd -P)
. "$root/scripts/setup.sh"
setup development

command -v crun >/dev/null || {
  can_apt || die "needed: crun; as root: $(install_command crun)"
  apt_install crun || exit 1
}

cd "$root"
export PATH="${node%/*}:$PATH"
exec "$node" test/soak/main.ts "$@"
