# Sets up a checkout: Node, npm packages, build. Sourced, with $root set to the checkout, by ./xfn and scripts/test.sh.
#
# `setup`, or `setup writable` for what itself writes into the checkout, leaves in
#   $node    the Node to run with (an absolute path)
#   $root    the checkout to run from: the same one, or a copy in the user's cache where this one cannot be written to
#   $origin  the checkout that was asked for
#
# What it makes is in the checkout: .xfn/ (state, and Node where it had to be brought), node_modules/ and packages/*/dist/.
# .xfn/state is written last and describes what was built from what, so a set-up that was killed half-way is simply not
# current and is done again. Removing .xfn/ is always safe.

newline='
'
# Node 24 is the oldest release that the packages run on (engines in package.json).
node_major=24

say() {
  printf 'xfn: %s\n' "$*" >&2
}

die() {
  say "$*"
  exit 1
}

# Runs a command and shows what it printed only if it fails.
quietly() {
  quiet_output=$("$@" 2>&1) && return 0
  quiet_status=$?
  printf '%s\n' "$quiet_output" >&2
  return "$quiet_status"
}

# with_progress TITLE [COUNT] COMMAND...: names the work, then runs the command. On a terminal a line shows the seconds,
# and what the function COUNT prints. The line ends with this shell, even after a signal that the subshell ignores.
with_progress() {
  title=$1
  count=$2
  shift 2
  say "$title"
  [ -t 2 ] || { "$@" && return 0 || return $?; }
  (
    seconds=0
    while sleep 1 && kill -0 $$ 2>/dev/null; do
      seconds=$((seconds + 1))
      printf '\r\033[Kxfn: %s: %s s%s' "$title" "$seconds" "$($count)" >&2
    done
  ) &
  ticker=$!
  status=0
  "$@" || status=$?
  kill "$ticker" 2>/dev/null || :
  wait "$ticker" 2>/dev/null || :
  printf '\r\033[K' >&2
  return "$status"
}

# npm unpacks in place: what is there so far.
count_megabytes() {
  set -- $(du -sk "$root/node_modules" 2>/dev/null)
  printf ', %s of about 594 MB' "$((${1:-0} / 1024))"
}

setup() {
  origin=$root
  find_cache
  [ "${1-}" = writable ] || ! current || return 0
  if ! writable; then
    copy_checkout
    current && return 0
  fi
  mkdir -p "$root/.xfn"
  lock "$root/.xfn/lock"
  current || prepare
  unlock
}

# ---- Is everything in place? ----

# One line per file that the build depends on or made: path, time, size. Any difference, older or newer, means work: a
# branch switch, a pull, an edit, a deletion, files synchronised from another machine with their times kept.
# Paths are relative, so that a checkout which is mounted or moved elsewhere stays current.
source_files() {
  cd "$root" && list package.json package-lock.json tsconfig.json tsconfig.base.json scripts/node \
    packages/*/package.json packages/*/tsconfig.json packages/*/src ! -name '*.test.ts'
}

product_files() {
  cd "$root" && list "$recorded_node" node_modules/.package-lock.json packages/*/dist/.tsbuildinfo packages/cli/dist/xfn.js
}

list() {
  found=$(find "$@" -type f -printf '%p %T@ %s\n' 2>/dev/null) || :
  # a find without -printf (busybox, BSD): by content, which is slower
  [ -n "$found" ] || found=$(find "$@" -type f -exec cksum {} + 2>/dev/null) || :
  printf '%s\n' "$found"
}

current() {
  [ -r "$root/.xfn/state" ] || return 1
  state=$(cat "$root/.xfn/state")
  use_node "${state%%"$newline"*}"
  [ -x "$node" ] && [ "$state" = "$recorded_node$newline$(source_files)$newline$(product_files)" ]
}

# A Node that was brought into the checkout is recorded relative to it.
use_node() {
  recorded_node=$1
  case $1 in
    /*) node=$1 ;;
    *) node=$root/$1 ;;
  esac
}

# ---- Where may we write? ----

# The program keeps images in $XDG_CACHE_HOME/xfn or ~/.cache/xfn. Where neither can be used (a uid without passwd entry,
# a home that belongs to somebody else), everything goes to a private folder under $TMPDIR, the program's and npm's too.
find_cache() {
  case ${XDG_CACHE_HOME-} in
    /*)
      cache=$XDG_CACHE_HOME
      return
      ;;
  esac
  if [ -n "${HOME-}" ] && usable "$HOME/.cache/xfn"; then
    cache=$HOME/.cache
    return
  fi
  uid=$(id -u)
  cache=${TMPDIR:-/tmp}/xfn-$uid
  private_folder "$cache"
  export XDG_CACHE_HOME="$cache"
}

# True if this folder can be written to, or made.
usable() {
  usable_path=$1
  while [ ! -e "$usable_path" ]; do
    case $usable_path in
      /*/*) usable_path=${usable_path%/*} ;;
      *) return 1 ;;
    esac
  done
  [ -d "$usable_path" ] && [ -w "$usable_path" ]
}

# npm, vitest and turbo do not start without a home: one in the cache, for a user who has none. (The program does.)
need_home() {
  if [ -z "${HOME-}" ] || ! usable "$HOME/.npm"; then
    export HOME="$cache/xfn/home"
    mkdir -p "$HOME"
    # `npm test` has told its scripts a cache below the home that cannot be used.
    unset npm_config_cache
  fi
}

# The name can be guessed, so another user may have made it first, to have us run what they put there: it must be a folder
# of ours (not a link to one), closed to others.
private_folder() {
  mkdir -m 700 "$1" 2>/dev/null && return 0
  private_listing=$(ls -ldn "$1" 2>/dev/null) || die "cannot make $1: set XDG_CACHE_HOME to a folder of your own"
  case $private_listing in
    drwx------*) [ ! -L "$1" ] && [ -O "$1" ] && return 0 ;;
  esac
  die "$1 is not a private folder of this user: set XDG_CACHE_HOME to a folder of your own"
}

writable() {
  for path in "$root" "$root/.xfn" "$root/.xfn/lock" "$root/.xfn/node" "$root/node_modules" \
    "$root"/packages/* "$root"/packages/*/dist "$root"/packages/*/dist/.tsbuildinfo; do
    [ ! -e "$path" ] || [ -w "$path" ] || return 1
  done
}

# A copy of the sources in the user's cache, renewed when the original changes.
copy_checkout() {
  mkdir -p "$cache/xfn" || die "cannot write to $cache: set XDG_CACHE_HOME to a folder of your own"
  copy=$cache/xfn/checkout-$(printf %s "$root" | cksum | tr ' ' -)
  mkdir -p "$copy"
  chmod 700 "$copy"
  lock "$copy.lock"
  original=$root$newline$(cd "$root" && list . \
    \( -name node_modules -o -name dist -o -name .git -o -name .xfn -o -name .turbo \) -prune -o)
  if [ "$original" != "$(cat "$copy/.xfn/original" 2>/dev/null)" ]; then
    say "this checkout cannot be written to: copying it to $copy"
    find "$copy" -type f ! -path '*/node_modules/*' ! -path '*/dist/*' ! -path "$copy/.xfn/*" -exec rm -f {} +
    mkdir -p "$copy/.xfn"
    (cd "$root" && tar -cf "$copy/.xfn/copy.tar" --exclude node_modules --exclude dist --exclude .git --exclude .xfn \
      --exclude .turbo .) || die "cannot copy $root"
    (cd "$copy" && tar -xof .xfn/copy.tar) || die "cannot write to $copy"
    rm "$copy/.xfn/copy.tar"
    # what may not be written to there is to be written to here
    find "$copy" -name node_modules -prune -o \( -type d -o -type f \) -exec chmod u+w {} +
    chmod 700 "$copy"
    printf '%s\n' "$original" >"$copy/.xfn/original"
  fi
  unlock
  root=$copy
}

# Two set-ups of one checkout take turns. The lock goes with its holder, however it ends. (Without flock, as on macOS,
# nobody takes turns.)
lock() {
  command -v flock >/dev/null || return 0
  exec 9>"$1"
  flock -n 9 && return 0
  say "waiting for another set-up of this checkout"
  flock 9 || :
}

unlock() {
  exec 9>&-
}

# ---- Setting up ----

prepare() {
  find_npm
  find_node
  before=$(source_files)
  if ! "$node" "$root/scripts/installed.ts"; then
    with_progress "installing packages (npm ci)" count_megabytes run_npm "$root" ci || die "npm could not install the packages: see above"
  fi
  with_progress "building (tsc -b)" : build || die "the build failed: see above"
  printf '%s\n' "$recorded_node" "$before" "$(product_files)" >"$root/.xfn/state.new"
  mv "$root/.xfn/state.new" "$root/.xfn/state"
}

build() (
  cd "$root" && quietly "$node" node_modules/typescript/bin/tsc -b && quietly "$node" scripts/bundle.ts
)

find_npm() {
  command -v npm >/dev/null && return 0
  if can_apt; then
    apt_install nodejs npm || die "apt-get could not install nodejs and npm: see above"
  else
    # crun will be asked for next: one command for both
    wanted="nodejs npm"
    command -v crun >/dev/null || wanted="$wanted crun"
    die "npm is not installed; as root: $(install_command $wanted)"
  fi
}

find_node() {
  for name in node nodejs; do
    candidate=$(command -v "$name") && new_enough "$candidate" || continue
    # the program itself, where `node` is a version manager's shim
    use_node "$("$candidate" -p process.execPath)"
    return
  done
  case $(uname -s)-$(uname -m) in
    Linux-x86_64) arch=x64 ;;
    Linux-aarch64) arch=arm64 ;;
    *) die "Node $node_major or newer is needed: install it from https://nodejs.org and try again" ;;
  esac
  pin=$root/scripts/node/linux-$arch
  use_node ".xfn/node/node_modules/node-linux-$arch/bin/node"
  cmp -s "$pin/package-lock.json" "$root/.xfn/node/package-lock.json" && new_enough "$node" && return
  rm -rf "$root/.xfn/node" "$root/.xfn/node.new"
  mkdir "$root/.xfn/node.new"
  cp "$pin/package.json" "$pin/package-lock.json" "$root/.xfn/node.new"
  with_progress "bringing Node from the npm registry (Node $node_major or newer is not on the PATH)" : \
    run_npm "$root/.xfn/node.new" ci || die "npm could not bring Node: see above"
  mv "$root/.xfn/node.new" "$root/.xfn/node"
  new_enough "$node" || die "the Node of the npm registry does not run here: install Node $node_major or newer"
}

new_enough() {
  version=$("$1" --version 2>/dev/null) || return 1
  version=${version#v}
  [ "${version%%.*}" -ge "$node_major" ] 2>/dev/null
}

# run_npm FOLDER ARGS: npm under the Node that was found, whatever NODE_ENV or an outer npm say. Packages' install scripts
# are not run: none of ours needs them.
run_npm() (
  folder=$1
  shift
  [ ! -x "$node" ] || PATH=${node%/*}:$PATH
  need_home
  unset npm_config_local_prefix
  export npm_config_update_notifier=false
  cd "$folder"
  quietly npm --prefix "$folder" "$@" --include=dev --include=optional --ignore-scripts --no-audit --no-fund \
    --no-progress --loglevel=error
)

# ---- Packages of the system ----

# offer_crun: installs it where that is possible; else names the command and lets the program go on (another runtime may
# have been asked for, and the program says itself what it misses).
offer_crun() {
  command -v crun >/dev/null && return 0
  if can_apt; then
    apt_install crun || say "apt-get could not install crun: see above"
  else
    say "crun is not installed; as root: $(install_command crun)"
  fi
}

# Whether a render names files, and none of them seems to have functions: templates alone need no containers.
without_functions() {
  seen=
  for argument in "$@"; do
    [ "$argument" != - ] || return 1
    [ -f "$argument" ] || continue
    seen=yes
    ! grep -Eq '^([^#]*[^[:alnum:]_#-])?functions["'\'']?[[:space:]]*:' "$argument" || return 1
  done
  [ -n "$seen" ]
}

can_apt() {
  command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]
}

apt_install() {
  with_progress "installing $* (apt-get)" : apt_update_and_install "$@"
}

apt_update_and_install() {
  quietly env DEBIAN_FRONTEND=noninteractive apt-get -q update &&
    quietly env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends \
      -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

install_command() {
  distribution=$(. /etc/os-release 2>/dev/null && echo "${ID-} ${ID_LIKE-}") || distribution=
  case " $distribution " in
    *" debian "* | *" ubuntu "*) echo "apt-get update && apt-get install -y --no-install-recommends $*" ;;
    *" fedora "* | *" rhel "*) echo "dnf install -y $*" ;;
    *" alpine "*) echo "apk add $*" ;;
    *" arch "*) echo "pacman -S --noconfirm $*" ;;
    *" suse "* | *" opensuse "*) echo "zypper install -y $*" ;;
    *) echo "install $* with this system's package manager" ;;
  esac
}
