# bare-crun.sh SCRATCH LOWERDIRS OWNER INPUT CONFIG, in namespaces that stay for all runs:
# mounts one overlay, then does one bare `crun run` of it for each line on stdin, and prints its microseconds.
set -eu
scratch=$1 lower=$2 owner=$3 input=$4 config=$5
mount -t tmpfs tmpfs "$scratch"
cp "$input" "$scratch/input"
mount -t tmpfs tmpfs /sys/fs/cgroup
mkdir "$scratch/upper" "$scratch/work" "$scratch/rootfs" "$scratch/state"
chown "$owner" "$scratch/upper"
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$scratch/upper,workdir=$scratch/work,userxattr" "$scratch/rootfs"
mkdir "$scratch/dev" "$scratch/dev/shm"
for link in fd fd/0 fd/1 fd/2; do ln -s "/proc/self/$link" "$scratch/dev/$(echo $link | sed 's|fd/0|stdin|; s|fd/1|stdout|; s|fd/2|stderr|')"; done
# As the runner does: new devices as root, else read-only binds.
while read -r device major minor; do
  mknod -m 666 "$scratch/dev/$device" c "$major" "$minor" 2>/dev/null && continue
  touch "$scratch/dev/$device"
  mount --bind "/dev/$device" "$scratch/dev/$device"
  mount -o remount,bind,ro,nosuid,noexec "$scratch/dev/$device"
done <<'DEVICES'
full 1 7
null 1 3
random 1 8
tty 5 0
urandom 1 9
zero 1 5
DEVICES
cp "$config" "$scratch/config.json"
large=no
[ "$(stat -c %s "$scratch/input")" -lt 65536 ] || large=yes
run() {
  if [ "$large" = yes ]; then
    # Use pipes, as any runner must: a file as stdin and /dev/null as stdout would save the cost of a reader and a writer.
    cat "$scratch/input" | crun --cgroup-manager=disabled --root="$scratch/state" run --bundle="$scratch" "$1" | cat >"$scratch/output"
  else
    crun --cgroup-manager=disabled --root="$scratch/state" run --bundle="$scratch" "$1" <"$scratch/input" >/dev/null
  fi
}
runs() {
  for ((i = 0; i < $2; i++)); do run "$1"; done
}
echo ready
# So many runs in sequence, so many sequences at once.
while read -r each places; do
  began=${EPOCHREALTIME/./}
  if [ "$places" = 1 ]; then
    runs bare "$each"
  else
    for ((place = 0; place < places; place++)); do runs "bare$place" "$each" & done
    wait
  fi
  ended=${EPOCHREALTIME/./}
  echo $((ended - began))
done
