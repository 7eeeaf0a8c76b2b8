#!/bin/sh
# npm test [-- ARGS OF VITEST]: sets up as ./xfn does, and what the tests need besides, then runs the tests under Node 24.
# XFN_TEST_REPORT=FILE keeps vitest's JSON report.
set -eu
unset CDPATH
root=$(cd "$(dirname "$0")/.." && pwd -P)
. "$root/scripts/setup.sh"
setup writable
need_home

# Tests whose needs are missing are skipped, each with its reason: what can be had is had.
missing=
for program in crun docker-registry skopeo runc umoci; do
  command -v "$program" >/dev/null || missing="$missing $program"
done
# The page of a trace is looked at in a browser.
command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || missing="$missing chromium-headless-shell"
# The runner contract is spoken with other languages.
python3 -c 'import grpc' 2>/dev/null || /usr/bin/python3 -c 'import grpc' 2>/dev/null || missing="$missing python3-grpcio"
# A host with cgroup v2 alone is a small virtual machine; root's tests start it.
virtual_machine=
if [ "$(uname -m)" = x86_64 ] && [ "$(id -u)" = 0 ]; then
  virtual_machine=yes
  command -v qemu-system-x86_64 >/dev/null || missing="$missing qemu-system-x86"
  command -v busybox >/dev/null || missing="$missing busybox-static"
  command -v cpio >/dev/null || missing="$missing cpio"
fi
if [ -n "$missing" ]; then
  if can_apt; then
    apt_install $missing || say "apt-get could not install$missing: see above"
  else
    say "some tests will be skipped:$missing not installed; as root: $(install_command $missing)"
  fi
fi

# Its kernel is the distribution's, unpacked and not installed.
if [ -n "$virtual_machine" ]; then
  XFN_TEST_KERNEL=$cache/xfn/test-kernel
  export XFN_TEST_KERNEL
  [ -e "$XFN_TEST_KERNEL/vmlinuz" ] || ! can_apt || {
    say "bringing a kernel for a virtual machine"
    sh "$root/test/cgroup-v2/kernel.sh" "$XFN_TEST_KERNEL" || say "some tests will be skipped: no kernel could be had"
  }
fi

# An API server is built with Go, beside the tests: those that need it are the last, and wait for this lock (see needs.ts).
mkdir -p "$cache/xfn/api-server"
builder=
if command -v flock >/dev/null; then
  exec 8>"$cache/xfn/api-server/lock"
  flock 8
  "$node" "$root/scripts/api-server.ts" &
  builder=$!
  exec 8>&-
else
  "$node" "$root/scripts/api-server.ts"
fi
# It is of no use to anybody who has run only other tests.
end_builder() {
  [ -z "$builder" ] || kill "$builder" 2>/dev/null || :
}
trap end_builder EXIT

report=${XFN_TEST_REPORT-}
if [ -z "$report" ]; then
  report=$(mktemp)
  trap 'rm -f "$report"; end_builder' EXIT
fi

cd "$root"
export PATH="${node%/*}:$PATH"
status=0
"$node" node_modules/vitest/vitest.mjs run "$@" --reporter=default --reporter=json --outputFile.json="$report" || status=$?
"$node" scripts/test-report.ts "$report"
exit "$status"
