#!/bin/sh
# Copies the images of this archive to a registry, writes the name of the registry into the manifests, and prints the command that installs
# the chart: sh load.sh REGISTRY [FLAG of xfn copy]...
set -eu

version=@VERSION@
fail() {
  echo "load.sh: $1" >&2
  exit "$2"
}

[ $# -gt 0 ] || fail "name your registry, such as: sh load.sh registry.internal/xfn" 2
registry=${1%/}
shift
case $registry in
  -* | *[!A-Za-z0-9./:_-]*) fail "$registry is not the name of a registry, such as registry.internal/xfn" 2 ;;
esac
command -v xfn >/dev/null || fail "xfn is not on the PATH: install it first" 1
here=$(cd "$(dirname "$0")" && pwd)
for image in @IMAGES@; do
  xfn copy "$@" "oci:$here/images/$image:$version" "$registry/$image:v$version" >&2
done
rm -rf "$here/xfn-manifests"
tar -xzf "$here/xfn-manifests-$version.tgz" -C "$here"
find "$here/xfn-manifests" -name "*.yaml" -exec sed -i.bak "s|@REGISTRY@/|$registry/|g" {} +
find "$here/xfn-manifests" -name "*.bak" -exec rm {} +
echo "helm install xfn $here/xfn-chart-$version.tgz --namespace crossplane-system --create-namespace --set image.registry=$registry --wait"
