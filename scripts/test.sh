#!/bin/sh
# npm test: sets up as ./xfn does, installs what the tests need besides, then runs all tests under Node 24.
# npm test -- ARGS OF VITEST: runs these tests. It installs nothing more: a test whose needs are missing is skipped.
# npm run test:long (XFN_TEST_SET=long): runs the long tests, which npm test leaves out. XFN_TEST_SET=all: runs all.
# XFN_TEST_SET=host: runs those that depend on the user.
# XFN_TEST_REPORT=FILE keeps vitest's JSON report.
set -eu
unset CDPATH
root=$(cd "$(dirname "$0")/.." && pwd -P)
. "$root/scripts/setup.sh"
setup development
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

if [ $# -eq 0 ]; then
  export XFN_TEST_SET="${XFN_TEST_SET:-short}"
  . "$root/scripts/test-needs.sh"
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

cd "$root"
export PATH="${node%/*}:$PATH"
status=0
"$node" node_modules/vitest/vitest.mjs run "$@" --reporter=default --reporter=json --outputFile.json="$report" || status=$?
"$node" scripts/test-report.ts "$report"
exit "$status"
