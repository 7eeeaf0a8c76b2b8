# Installs what the tests need besides a checkout that is set up. scripts/test.sh sources it after setup.sh. It sets
# $builder to the process that builds the API server, if there is one.

# A test whose needs are missing is skipped with the reason.
missing=
for program in crun docker-registry skopeo runc umoci zsh fish; do
  command -v "$program" >/dev/null || missing="$missing $program"
done
command -v busybox >/dev/null || missing="$missing busybox-static"
# gVisor is not in every distribution.
command -v runsc >/dev/null || ! apt-cache show runsc >/dev/null 2>&1 || missing="$missing runsc"
# A browser tests the trace page.
command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || missing="$missing chromium-headless-shell"
# Tests call the runner from other languages.
python3 -c 'import grpc' 2>/dev/null || /usr/bin/python3 -c 'import grpc' 2>/dev/null || missing="$missing python3-grpcio"
# The long tests of root start a small virtual machine as a host with cgroup v2 alone.
virtual_machine=
case $XFN_TEST_SET-$(uname -m)-$(id -u) in long-x86_64-0 | all-x86_64-0) virtual_machine=yes ;; esac
if [ -n "$virtual_machine" ]; then
  command -v qemu-system-x86_64 >/dev/null || missing="$missing qemu-system-x86"
  command -v cpio >/dev/null || missing="$missing cpio"
fi
api_server=
"$node" "$root/scripts/api-server.ts" --check || api_server=", an API server, built with Go (about five minutes, beside the tests)"
kernel=
[ -z "$virtual_machine" ] || [ -e "$XFN_TEST_KERNEL/vmlinuz" ] || kernel=", a kernel for a virtual machine"
cached=$api_server$kernel
cached=${cached#,}
cat >&2 <<TEXT
xfn: npm test installs what the tests need:
xfn:   with apt-get:${missing:- nothing, all is installed}
xfn:   in $cache/xfn:${cached:- nothing, all is there}
xfn: To run some tests and install nothing, name them: npm test -- PATH
TEXT
if [ -n "$missing" ]; then
  if can_apt; then
    apt_install $missing || :
  else
    say "some tests will be skipped:$missing not installed; as root: $(install_command $missing)"
  fi
fi

# Unpack the distribution's kernel without installing it.
if [ -n "$virtual_machine" ]; then
  [ -e "$XFN_TEST_KERNEL/vmlinuz" ] || ! can_apt || {
    say "downloading a kernel for a virtual machine"
    sh "$root/test/cgroup-v2/kernel.sh" "$XFN_TEST_KERNEL" || say "some tests will be skipped: the kernel could not be downloaded"
  }
fi

# Build a missing API server with Go while tests run. Then tests that need it run last (vitest.config.ts) and wait for
# this lock (needs.ts).
if [ -z "$api_server" ]; then
  :
elif mkdir -p "$cache/xfn/api-server" && command -v flock >/dev/null; then
  export XFN_TEST_CLUSTER=last
  exec 8>"$cache/xfn/api-server/lock"
  flock 8
  "$node" "$root/scripts/api-server.ts" &
  builder=$!
  exec 8>&-
else
  "$node" "$root/scripts/api-server.ts"
fi
