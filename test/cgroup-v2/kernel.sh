#!/bin/sh
# kernel.sh FOLDER: brings Debian's kernel with the modules that the virtual machine needs, as FOLDER/vmlinuz and FOLDER/*.ko.
# The package is unpacked and not installed; apt verifies it.
set -eu
folder=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# apt downloads as a user of its own.
chmod 755 "$work"
cd "$work"

# linux-image-amd64 is an empty package that names the newest.
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
  # tar minds a folder that this kernel does not have.
  [ -n "$(find boot -name 'vmlinuz-*')" ]
find lib -name '*.ko.xz' -exec xz -d {} +

rm -rf "$folder.new"
mkdir -p "$folder.new"
find lib -name '*.ko' -exec mv {} "$folder.new" \;
mv boot/vmlinuz-* "$folder.new/vmlinuz"
rm -rf "$folder"
mv "$folder.new" "$folder"
