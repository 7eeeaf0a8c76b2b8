# Brings what the tests need besides a checkout that is set up. Sourced by scripts/test.sh, after setup.sh. Leaves in $builder
# the process that builds the API server, if one does.

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
cat >&2 <<TEXT
xfn: npm test runs every test, and brings what they need:
xfn:   with apt-get:${missing:- nothing, all is installed}
xfn:   in $cache/xfn: an API server, built with Go once (about five minutes, beside the tests)${virtual_machine:+, and a kernel for a virtual machine}
xfn: To run some tests and install nothing, name them: npm test -- PATH
TEXT
if [ -n "$missing" ]; then
  if can_apt; then
    apt_install $missing || say "apt-get could not install$missing: see above"
  else
    say "some tests will be skipped:$missing not installed; as root: $(install_command $missing)"
  fi
fi

# The kernel is the distribution's, unpacked and not installed.
if [ -n "$virtual_machine" ]; then
  [ -e "$XFN_TEST_KERNEL/vmlinuz" ] || ! can_apt || {
    say "bringing a kernel for a virtual machine"
    sh "$root/test/cgroup-v2/kernel.sh" "$XFN_TEST_KERNEL" || say "some tests will be skipped: no kernel could be had"
  }
fi

# An API server is built with Go, beside the tests: those that need it are the last, and wait for this lock (see needs.ts).
mkdir -p "$cache/xfn/api-server"
if command -v flock >/dev/null; then
  exec 8>"$cache/xfn/api-server/lock"
  flock 8
  "$node" "$root/scripts/api-server.ts" &
  builder=$!
  exec 8>&-
else
  "$node" "$root/scripts/api-server.ts"
fi
