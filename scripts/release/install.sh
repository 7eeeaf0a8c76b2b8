#!/bin/sh
# Installs xfn @VERSION@ below ~/.local, or below $XFN_PREFIX, with completion for bash, zsh and fish:
#   curl -fsSL @RELEASE@/install.sh | sh
# It changes nothing before the download has the checksum below. $XFN_RELEASE_URL names another place of the archives.
set -eu

version=@VERSION@
release=${XFN_RELEASE_URL:-@RELEASE@}
checksums='
@CHECKSUMS@
'

die() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}

scratch=
stage=
loader=
clean_up() {
  [ -z "$loader" ] || kill "$loader" 2>/dev/null || :
  rm -rf ${scratch:+"$scratch"} ${stage:+"$stage"}
}

# download URL FILE: replaces the shell that calls it.
download() {
  if command -v curl >/dev/null; then
    exec curl -fsSL --retry 2 -o "$2" "$1"
  else
    exec wget -q -O "$2" "$1"
  fi
}

sha256_of() {
  if command -v sha256sum >/dev/null; then
    sha256sum "$1"
  else
    shasum -a 256 "$1"
  fi | cut -d ' ' -f 1
}

# is_ours LINK: whether this script made the link, or may make it.
is_ours() {
  [ -e "$1" ] || [ -L "$1" ] || return 0
  case $(readlink "$1") in ../lib/xfn-*/bin/*) ;; *) return 1 ;; esac
}

# All work is in a function, so that a shell that gets a part of this script does nothing.
main() {
  system=$(uname -s)
  machine=$(uname -m)
  case $system in Linux) os=linux ;; Darwin) os=darwin ;; *) os=$system ;; esac
  case $machine in x86_64 | amd64) cpu=x64 ;; aarch64 | arm64) cpu=arm64 ;; *) cpu=$machine ;; esac
  name=xfn-$version-$os-$cpu
  expected=$(printf '%s' "$checksums" | awk -v file="$name.tar.gz" '$2 == file { print $1 }')
  [ -n "$expected" ] ||
    die "no archive for $system on $machine: use npm install -g @xfn/cli@$version, which needs Node 24 or newer"

  prefix=${XFN_PREFIX:-$HOME/.local}
  for program in xfn kubectl-xfn; do
    is_ours "$prefix/bin/$program" ||
      die "$prefix/bin/$program is not from this installer: remove it, or choose another folder with XFN_PREFIX"
  done

  trap clean_up EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  scratch=$(mktemp -d)
  # In the background: a shell handles signals during `wait`, and not while a program runs.
  download "$release/$name.tar.gz" "$scratch/archive" &
  loader=$!
  wait "$loader" || die "$release/$name.tar.gz: the download failed; nothing was changed"
  loader=
  actual=$(sha256_of "$scratch/archive")
  [ "$actual" = "$expected" ] ||
    die "$release/$name.tar.gz: the SHA-256 is $actual, not $expected; nothing was changed"
  tar -xzf "$scratch/archive" -C "$scratch" || die "$name.tar.gz could not be unpacked; nothing was changed"
  new=$scratch/$name
  "$new/bin/xfn" --version >/dev/null || die "xfn does not start on this machine; nothing was changed"
  for shell in bash zsh fish; do
    "$new/bin/xfn" completion "$shell" >"$scratch/completion.$shell"
  done

  mkdir -p "$prefix/lib" "$prefix/bin"
  # Left by an installer that was killed.
  rm -rf "$prefix/lib/.xfn-install".*
  stage=$(mktemp -d "$prefix/lib/.xfn-install.XXXXXX")
  chmod -R go=rX "$new"
  mv "$new" "$stage/new" || die "$prefix/lib: the files could not be written; nothing was changed"
  # A signal must not come between these steps.
  trap '' HUP INT TERM
  [ ! -e "$prefix/lib/$name" ] || mv "$prefix/lib/$name" "$stage/old"
  mv "$stage/new" "$prefix/lib/$name"
  for program in xfn kubectl-xfn; do
    ln -s "../lib/$name/bin/$program" "$stage/$program"
    mv -f "$stage/$program" "$prefix/bin/$program"
  done
  for other in "$prefix/lib"/xfn-*; do
    [ "$other" = "$prefix/lib/$name" ] || rm -rf "$other"
  done
  install_completion bash bash-completion/completions/xfn
  install_completion zsh zsh/site-functions/_xfn
  install_completion fish fish/vendor_completions.d/xfn.fish

  echo "xfn $version is in $prefix/bin"
  [ "$os" = linux ] ||
    echo "@OTHER_SYSTEMS@"
  case :$PATH: in *":$prefix/bin:"*) ;; *) echo "Add it to your PATH: export PATH=\"$prefix/bin:\$PATH\"" ;; esac
}

# install_completion SHELL FILE
install_completion() {
  mkdir -p "$prefix/share/${2%/*}"
  cp "$scratch/completion.$1" "$prefix/share/$2"
}

main
