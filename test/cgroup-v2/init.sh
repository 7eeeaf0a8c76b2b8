#!/bin/busybox sh
# The first process of the virtual machine: makes the machine's own root file system of the host's (read-only, by 9p) and
# memory above it, mounts a cgroup v2 hierarchy there, and goes on as GUEST.
export PATH=/bin
/bin/busybox --install -s /bin
echo "@@xfn booted"
mkdir -p /proc /sys /dev /host /upper /root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
# From here on the kernel's errors alone: its lines would go through those that are told.
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

# As systemd leaves it: the group at the top hands out controllers, and has no processes.
mkdir sys/fs/cgroup/init.scope
echo $$ >sys/fs/cgroup/init.scope/cgroup.procs
echo "+cpu +memory +pids" >sys/fs/cgroup/cgroup.subtree_control || fail "no controllers"

ip link set lo up
# No chroot: in one, the kernel makes no user namespaces.
umount /proc /sys /dev
exec switch_root /root /bin/sh "$GUEST" <dev/null >dev/console 2>&1
