#!/bin/busybox sh
# The first process of the virtual machine: mounts an overlay of the host's files (read-only, by 9p) and memory as root, mounts
# a cgroup v2 hierarchy, and executes GUEST.
export PATH=/bin
/bin/busybox --install -s /bin
echo "@@xfn booted"
mkdir -p /proc /sys /dev /host /upper /root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
# Only the kernel's errors from here on, because its messages would interleave with the results.
dmesg -n 4
fail() {
  echo "@@xfn failed: $*"
  poweroff -f
}

while read -r module; do
  insmod "/modules/$module.ko" || fail "insmod $module"
done </modules/order

mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,ro,cache=loose host /host || fail "no 9p"
mount -t tmpfs -o mode=755 upper /upper
mkdir /upper/upper /upper/work
mount -t overlay -o lowerdir=/host,upperdir=/upper/upper,workdir=/upper/work overlay /root || fail "no overlay"
cd /root || fail "no root"
mkdir -p proc sys dev run
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t devtmpfs devtmpfs dev
mount -t tmpfs -o mode=755 run run
mount -t cgroup2 cgroup2 sys/fs/cgroup || fail "no cgroup2"

# Like systemd: the root cgroup enables controllers, and contains no processes.
mkdir sys/fs/cgroup/init.scope
echo $$ >sys/fs/cgroup/init.scope/cgroup.procs
echo "+cpu +memory +pids" >sys/fs/cgroup/cgroup.subtree_control || fail "no controllers"

ip link set lo up
# No chroot, because the kernel creates no user namespaces in one (user_namespaces(7)).
umount /proc /sys /dev
exec switch_root /root /bin/sh "$GUEST" <dev/null >dev/console 2>&1
