# What the first process of the virtual machine does when the machine is there: has the stories told, once for each kind of
# user, and switches it off. CHECKOUT, NODE, STORIES, STORES,
# IMAGE and ORDINARY_UID are given on the kernel's command line.
export NODE_COMPILE_CACHE=/run/compiled
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/nowhere LC_ALL=C
cgroups=/sys/fs/cgroup
as_user="setpriv --reuid=$ORDINARY_UID --regid=$ORDINARY_UID --clear-groups"

# in_group GROUP COMMAND...: in a group of its own, which the command's first process alone is in.
in_group() {
  group=$1
  shift
  sh -c 'echo 0 >"$1/cgroup.procs" && shift && exec "$@"' sh "$cgroups/$group" "$@"
}

# doctor KIND GROUP [PREFIX...]: what `xfn doctor` says, alone in the group.
doctor() {
  kind=$1
  group=$2
  shift 2
  in_group "$group" "$@" "$NODE" "$CHECKOUT/packages/cli/dist/xfn.js" doctor --json >"/run/doctor-$kind.json" 2>&1
}

# tell KIND MODE GROUP [PREFIX...]: stories, see run-stories.ts.
tell() {
  kind=$1
  mode=$2
  group=$3
  shift 3
  in_group "$group" "$@" "$NODE" "$STORIES" "$kind" "$mode" "$IMAGE"
}

# delegate GROUP: hands it to the user, as `systemd-run --user --scope -p Delegate=yes` does.
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

# Root, in a group of its own such as a service has: the runner steps aside, into xfn-supervisor below it, and is killed in the
# middle of a call. The next one starts there (systemd: DelegateSubgroup=xfn-supervisor).
as_root() {
  export XDG_CACHE_HOME=/run/root
  tell root killed service
  tell root all service/xfn-supervisor
}

# A user who was handed a subtree.
as_delegated() {
  export XDG_CACHE_HOME=/run/user
  doctor delegated user.slice/delegated $as_user
  tell delegated killed user.slice/delegated $as_user
  tell delegated all user.slice/delegated/xfn-supervisor $as_user
}

# The same user in a group that is not theirs.
as_foreign() {
  export XDG_CACHE_HOME=/run/user
  tell foreign all user.slice/foreign $as_user
}

mkdir "$cgroups/service" "$cgroups/user.slice" "$cgroups/user.slice/foreign"
echo "+cpu +memory +pids" >"$cgroups/user.slice/cgroup.subtree_control"
delegate user.slice/delegated

# Two at a time, for the two processors.
{ as_root; as_foreign; } &
as_delegated
wait
echo "@@xfn done"
/bin/busybox poweroff -f
