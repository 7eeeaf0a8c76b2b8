#!/bin/sh
# npm run soak [-- --calls N] [--concurrency N] [--warm-pool POLICY]: sets up as ./xfn does, then makes a hundred
# thousand calls, or N, a fifth of them faulty, to xfn-runner with real containers, and looks at what it holds.
set -eu
unset CDPATH
root=$(cd "$(dirname "$0")/.." && pwd -P)
. "$root/scripts/setup.sh"
setup writable

command -v crun >/dev/null || {
  can_apt || die "needed: crun; as root: $(install_command crun)"
  apt_install crun || die "apt-get could not install crun: see above"
}

cd "$root"
export PATH="${node%/*}:$PATH"
exec "$node" test/soak/main.ts "$@"
