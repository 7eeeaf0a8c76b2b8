#!/bin/sh
# npm test: sets up as ./xfn does, installs what the tests need besides, then runs all tests under Node 24.
# npm test -- ARGS OF VITEST: runs these tests. It installs nothing more: a test whose needs are missing is skipped.
# npm run test:long (XFN_TEST_LONG=only): runs the long tests, which npm test leaves out. XFN_TEST_LONG=too: runs all.
# XFN_TEST_REPORT=FILE keeps vitest's JSON report.
set -eu
unset CDPATH
root=$(cd "$(dirname "$0")/.." && pwd -P)
. "$root/scripts/setup.sh"
setup writable
need_home

# The kernel of a virtual machine, if an earlier run has downloaded it.
export XFN_TEST_KERNEL="$cache/xfn/test-kernel"

# Ends the build of the API server, if test-needs.sh has started one.
builder=
# A folder in memory for temporary files.
memory=
clean_up() {
  [ -z "$builder" ] || kill "$builder" 2>/dev/null || :
  [ -z "$memory" ] || rm -rf "$memory"
}
trap clean_up EXIT

# Many calls, crashes, mutations and large values, other languages and tools, a virtual machine, new clones, and
# commands as the documentation and the examples print them. They take as long as all others together.
long='
test/cgroup-v2/cgroup-v2.test.ts
test/sweep/sweep.test.ts
test/sweep/program.test.ts
test/e2e/runner-grpc-soak.test.ts
test/e2e/runner-grpc-interop.test.ts
test/e2e/runner-memory.test.ts
test/e2e/xfn-controller-memory.test.ts
test/e2e/xfn-controller-flood.test.ts
test/e2e/init.test.ts
test/e2e/launcher.test.ts
test/e2e/launcher-signals.test.ts
test/e2e/layers-umoci.test.ts
test/e2e/examples.test.ts
test/e2e/pages.test.ts
test/e2e/testing-page.test.ts
test/e2e/trace-page.test.ts
test/e2e/multi-tenancy-page.test.ts
test/e2e/xfn-controller-page.test.ts
test/e2e/controller-packages-page.test.ts
packages/function-grpc/src/message/response-size.test.ts
packages/functionio/src/function-io/output-limits.test.ts
packages/oci-rootfs/src/store/crash.test.ts
packages/oci-rootfs/src/store/mutated-layers.test.ts
'
if [ $# -eq 0 ]; then
  . "$root/scripts/test-needs.sh"
  case ${XFN_TEST_LONG-} in
    only) set -- $long ;;
    too) ;;
    *) export XFN_TEST_EXCLUDE="${XFN_TEST_EXCLUDE-} $(echo $long)" ;;
  esac
fi

# After the installations, which set and reset these traps.
trap 'exit 130' INT
trap 'exit 143' TERM

# The tests make and remove tens of thousands of small files, which takes most file systems ten times the processor time
# that it takes in memory.
if [ -z "${TMPDIR-}" ] && [ -w /dev/shm ] && [ "$(df -Pk /dev/shm | awk 'NR == 2 { print $4 }')" -ge 8000000 ]; then
  memory=$(mktemp -d /dev/shm/xfn-tests.XXXXXX)
  chmod 1777 "$memory"
  export TMPDIR="$memory"
fi

report=${XFN_TEST_REPORT-}
if [ -z "$report" ]; then
  report=$(mktemp)
  trap 'rm -f "$report"; clean_up' EXIT
fi

# `npm run check` runs the checks of sources.
[ $# -gt 0 ] || set -- --project '!check'

cd "$root"
export PATH="${node%/*}:$PATH"
status=0
"$node" node_modules/vitest/vitest.mjs run "$@" --reporter=default --reporter=json --outputFile.json="$report" || status=$?
"$node" scripts/test-report.ts "$report"
exit "$status"
