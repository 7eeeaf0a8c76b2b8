# The second stage of the virtual machine's first process: runs the checks for each kind of user, and switches the machine off.
# The kernel's command line sets CHECKOUT, NODE, CHECKS, STORES, IMAGE and ORDINARY_UID.
export NODE_COMPILE_CACHE=/run/compiled
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/nowhere LC_ALL=C
cgroups=/sys/fs/cgroup
as_user="setpriv --reuid=$ORDINARY_UID --regid=$ORDINARY_UID --clear-groups"

# in_group GROUP COMMAND...: runs a command as the only process of a cgroup.
in_group() {
  group=$1
  shift
  sh -c 'echo 0 >"$1/cgroup.procs" && shift && exec "$@"' sh "$cgroups/$group" "$@"
}

# doctor KIND GROUP [PREFIX...]: runs `xfn doctor` as the only process of a cgroup.
doctor() {
  kind=$1
  group=$2
  shift 2
  in_group "$group" "$@" "$NODE" "$CHECKOUT/packages/cli/dist/xfn.js" doctor --json >"/run/doctor-$kind.json" 2>&1
}

# check KIND MODE GROUP [PREFIX...]: runs checks, see run-checks.ts.
check() {
  kind=$1
  mode=$2
  group=$3
  shift 3
  in_group "$group" "$@" "$NODE" "$CHECKS" "$kind" "$mode" "$IMAGE"
}

# delegate GROUP: delegates a cgroup to the user, as `systemd-run --user --scope -p Delegate=yes` does.
delegate() {
  mkdir -p "$cgroups/$1"
  for file in . cgroup.procs cgroup.subtree_control cgroup.threads; do
    chown "$ORDINARY_UID" "$cgroups/$1/$file"
  done
}

mkdir -m 1777 /run/compiled /run/tests
for user in root user; do
  mkdir "/run/$user" && cp -a "$STORES/$user" "/run/$user/xfn"
done
chown "$ORDINARY_UID" /run/user

# Root, in the cgroup of a service: the runner moves itself into xfn-supervisor below it, and is killed during a call. The next
# runner starts there (systemd: DelegateSubgroup=xfn-supervisor).
as_root() {
  export XDG_CACHE_HOME=/run/root
  check root killed service
  check root all service/xfn-supervisor
}

# A user with a delegated subtree.
as_delegated() {
  export XDG_CACHE_HOME=/run/user
  doctor delegated user.slice/delegated $as_user
  check delegated killed user.slice/delegated $as_user
  check delegated all user.slice/delegated/xfn-supervisor $as_user
}

# The same user in a cgroup without delegation.
as_foreign() {
  export XDG_CACHE_HOME=/run/user
  check foreign all user.slice/foreign $as_user
}

mkdir "$cgroups/service" "$cgroups/user.slice" "$cgroups/user.slice/foreign"
echo "+cpu +memory +pids" >"$cgroups/user.slice/cgroup.subtree_control"
delegate user.slice/delegated

# Two kinds at a time, for the two processors.
{ as_root; as_foreign; } &
as_delegated
wait
echo "@@xfn done"
/bin/busybox poweroff -f
