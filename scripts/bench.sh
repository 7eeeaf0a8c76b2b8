#!/bin/sh
# npm run bench [-- SUITE...]: sets up as ./xfn does, installs the peers, then prints one JSON line per figure.
set -eu
unset CDPATH
root=$(cd "$(dirname "$0")/.." && pwd -P)
. "$root/scripts/setup.sh"
setup development

missing=
for package in busybox-static:busybox crun:crun docker-registry:docker-registry skopeo:skopeo umoci:umoci; do
  command -v "${package#*:}" >/dev/null || missing="$missing ${package%:*}"
done
if [ -n "$missing" ]; then
  can_apt || die "needed for the benchmarks:$missing; as root: $(install_command $missing)"
  apt_install $missing || exit 1
fi

cd "$root"
export PATH="${node%/*}:$PATH"
# Without a name, runs all suites.
case " ${*:-controller} " in
  *" controller "* | *" kubernetes "* | *" packages "* | *" package-composites "* | *" definitions "*) "$node" scripts/api-server.ts ;;
esac
exec "$node" test/bench/main.ts "$@"
