#!/bin/sh
# kernel.sh FOLDER: downloads Debian's kernel and the virtual machine's modules into FOLDER/vmlinuz and FOLDER/*.ko. apt verifies
# the package, and it is unpacked without installation.
set -eu
folder=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# apt downloads as the user _apt.
chmod 755 "$work"
cd "$work"

# linux-image-amd64 is an empty package that depends on the newest kernel.
newest() {
  apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9][^ ]*\)$/\1/p' | head -n 1
}
package=$(newest)
if [ -z "$package" ] || ! apt-get -q download "$package" >/dev/null 2>&1; then
  apt-get -q update >/dev/null
  package=$(newest)
  apt-get -q download "$package" >/dev/null
fi

modules='./lib/modules/*/kernel'
dpkg-deb --fsys-tarfile ./*.deb | tar -x --wildcards './boot/vmlinuz-*' "$modules/drivers/virtio/*" "$modules/net/9p/*" \
  "$modules/fs/9p/*" "$modules/fs/netfs/*" "$modules/fs/fscache/*" "$modules/fs/overlayfs/*" 2>/dev/null ||
  # tar fails for folders that this kernel lacks.
  [ -n "$(find boot -name 'vmlinuz-*')" ]
find lib -name '*.ko.xz' -exec xz -d {} +

rm -rf "$folder.new"
mkdir -p "$folder.new"
find lib -name '*.ko' -exec mv {} "$folder.new" \;
mv boot/vmlinuz-* "$folder.new/vmlinuz"
rm -rf "$folder"
mv "$folder.new" "$folder"
