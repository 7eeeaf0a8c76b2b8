# Sets up a checkout: Node, npm packages, build. ./xfn and scripts/test.sh source it, with $root set to the checkout.
#
# `setup` installs only the packages that the programs need. Callers that need the development tools, and write into the
# checkout, call `setup development`. It sets
#   $node    the absolute path of the Node to run with
#   $root    the checkout to run from: the same one, or a copy in the user's cache if this one is read-only
#   $origin  the original checkout
#
# Its output is in the checkout: .xfn/ (state, and Node if it had to be installed), node_modules/ and packages/*/dist/.
# It writes .xfn/state last, with the inputs and outputs of the build. A set-up that was killed is therefore not
# current, and runs again. Removing .xfn/ is always safe.

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

# The process that shows the seconds of a command, if there is one.
ticker=

# with_progress TITLE COUNT FAILURE COMMAND...: prints the title, then runs the command without its output. If it fails,
# says FAILURE with the cause. On a terminal a line shows the seconds and the output of the function COUNT.
with_progress() {
  title=$1
  count=$2
  failure=$3
  shift 3
  say "$title"
  ticker=
  [ ! -t 2 ] || {
    show_seconds &
    ticker=$!
  }
  status=0
  interruptibly explained "$@" || status=$?
  stop_ticker
  return "$status"
}

# Ends with this shell, even after a signal that the subshell ignores.
show_seconds() {
  seconds=0
  while sleep 1 && kill -0 $$ 2>/dev/null; do
    seconds=$((seconds + 1))
    counted=": $seconds s$($count)"
    columns=$(stty size <&2 2>/dev/null) || columns=
    columns=${columns##* }
    # A wrapped line cannot be cleared: shorten the title. 0 columns mean an unknown size.
    [ "${columns:-0}" -gt 0 ] || columns=80
    room=$((columns - ${#counted} - 6))
    [ "$room" -gt 0 ] || room=0
    printf '\r\033[K%.*s' "$((columns - 1))" "xfn: $(printf '%.*s' "$room" "$title")$counted" >&2
  done
}

stop_ticker() {
  [ -n "$ticker" ] || return 0
  kill "$ticker" 2>/dev/null || :
  wait "$ticker" 2>/dev/null || :
  ticker=
  printf '\r\033[K' >&2
}

# Runs a command without its output. If it fails, prints one line with cause and remedy, or else the output. Returns
# $disk_full if that is the cause.
disk_full=28
explained() {
  output=$("$@" 2>&1) && return 0
  status=$?
  # The caller still waits for this process.
  [ -z "$ticker" ] || kill "$ticker" 2>/dev/null || :
  [ -z "$ticker" ] || printf '\r\033[K' >&2
  case $output in
    *ENOSPC* | *"o space left on device"*)
      say "$failure: no space is left on the disk of $root, of the user's cache, or of ${TMPDIR:-/tmp}: free about 1 GB (df -h shows the disks) and try again"
      status=$disk_full ;;
    *EDQUOT* | *"isk quota exceeded"*)
      say "$failure: the disk quota of this user is exceeded: free about 1 GB and try again"
      status=$disk_full ;;
    *SELF_SIGNED_CERT* | *UNABLE_TO_GET_ISSUER_CERT* | *UNABLE_TO_VERIFY_LEAF* | *CERT_UNTRUSTED* | *"self-signed certificate"*)
      say "$failure: the certificate of the npm registry, or of a proxy before it, is not trusted: set NODE_EXTRA_CA_CERTS=FILE to the PEM file of its authority, or run: npm config set cafile FILE" ;;
    *CERT_HAS_EXPIRED* | *ERR_TLS_CERT_ALTNAME* | *CERT_NOT_YET_VALID*)
      say "$failure: the certificate of the npm registry, or of a proxy before it, is not valid: check this machine's clock, and npm config get registry" ;;
    *)
      printf '%s\n' "$output" >&2
      say "$failure: see above" ;;
  esac
  return "$status"
}

# Runs a command so that SIGINT, SIGTERM and SIGHUP end it and this shell at once. A shell runs a trap only after a
# command in the foreground, but it interrupts `wait`.
interruptibly() {
  trap 'interrupted INT 130' INT
  trap 'interrupted TERM 143' TERM
  trap 'interrupted HUP 129' HUP
  "$@" &
  child=$!
  interruptible_status=0
  wait "$child" || interruptible_status=$?
  child=
  trap - INT TERM HUP
  return "$interruptible_status"
}

interrupted() {
  trap '' INT TERM HUP
  [ -z "${ticker-}" ] || kill_tree "$ticker"
  [ -z "${ticker-}" ] || printf '\r\033[K' >&2
  # A killed dpkg would leave a package half installed, and keep all others from being installed.
  if [ -n "$child" ] && tree_runs "$child" dpkg; then
    say "stopped by SIG$1; apt-get completes its installation in the background"
  else
    [ -z "$child" ] || kill_tree "$child"
    say "stopped by SIG$1"
  fi
  exit "$2"
}

# Kills a process with all that it has started. Each is stopped before its children are listed, so that none is missed.
kill_tree() {
  kill -s STOP "$1" 2>/dev/null || return 0
  for tree_pid in $(children_of "$1"); do (kill_tree "$tree_pid"); done
  kill -s KILL "$1" 2>/dev/null || :
}

# tree_runs PID NAME: whether a process or one that it has started has the name.
tree_runs() {
  for tree_pid in $(children_of "$1"); do
    IFS= read -r tree_name 2>/dev/null <"/proc/$tree_pid/comm" || continue
    [ "$tree_name" != "$2" ] || return 0
    ! (tree_runs "$tree_pid" "$2") || return 0
  done
  return 1
}

children_of() {
  [ -r /proc/self/stat ] || {
    ps -A -o pid= -o ppid= 2>/dev/null | while read -r pid parent; do
      [ "$parent" != "$1" ] || echo "$pid"
    done
    return
  }
  for stat in /proc/[0-9]*/stat; do
    # The name of the program is in parentheses, and can have spaces.
    IFS= read -r stat 2>/dev/null <"$stat" || continue
    pid=${stat%% *}
    stat=${stat##*) ? }
    [ "${stat%% *}" != "$1" ] || echo "$pid"
  done
}

# npm unpacks in place, so that the size of node_modules shows its progress.
count_megabytes() {
  set -- $(du -sk "$root/node_modules" 2>/dev/null)
  printf ', %s of about %s MB' "$((${1:-0} / 1024))" "$megabytes"
}

setup() {
  origin=$root
  development=
  [ "${1-}" != development ] || development=yes
  find_cache
  [ -n "$development" ] || ! current || return 0
  if ! writable; then
    copy_checkout
    current && return 0
  fi
  mkdir -p "$root/.xfn"
  lock "$root/.xfn/lock"
  current || prepare
  unlock
}

# ---- Is the set-up current? ----

# One line per input and output of the build: path, time, size. Any difference, older or newer, requires a new set-up: a
# branch switch, a pull, an edit, a deletion, files synchronised from another machine with their times.
# Paths are relative, so that a checkout stays current when it is moved or mounted elsewhere.
source_paths='package.json package-lock.json tsconfig.json tsconfig.base.json scripts/node scripts/bundle*.ts
  scripts/lazy-builtins.ts packages/*/package.json packages/*/tsconfig.json packages/*/src'
product_paths='node_modules/.package-lock.json packages/*/dist/.tsbuildinfo packages/cli/dist/xfn.js
  packages/cli/dist/xfn-program.js packages/cli/dist/xfn-*.cjs packages/runner/dist/host/main-bundle.js
  packages/runner/dist/program/program-bundle.cjs packages/kinds/dist/index.d.ts'

source_files() {
  cd "$root" && list $source_paths ! -name '*.test.ts'
}

product_files() {
  cd "$root" && list "$recorded_node" $product_paths
}

list() {
  found=$(find "$@" -type f -printf "$properties" 2>/dev/null) || :
  # find has no -printf in busybox and BSD: compare content instead, which is slower
  [ -n "$found" ] || found=$(find "$@" -type f -exec cksum {} + 2>/dev/null) || :
  printf '%s\n' "$found"
}

properties='%p %T@ %s\n'

current() {
  [ -z "$development" ] || has_development_tools || return 1
  [ -r "$root/.xfn/state" ] && IFS= read -r recorded <"$root/.xfn/state" || return 1
  use_node "$recorded"
  [ -x "$node" ] || return 1
  # Most starts end here. Text in a variable costs as much as finding it.
  listed_state 2>/dev/null | cmp -s - "$root/.xfn/state" 2>/dev/null && return 0
  [ "$(cat "$root/.xfn/state")" = "$recorded_node$newline$(source_files)$newline$(product_files)" ]
}

# Prints what `prepare` records, with one process. Prints less where find has no -printf.
listed_state() {
  printf '%s\n' "$recorded_node"
  cd "$root" && find $source_paths "$recorded_node" $product_paths ! -name '*.test.ts' -type f -printf "$properties"
}

# Only complete installations count: npm writes its record last, and the state has the record's time. npm installs vitest
# without its dependencies even if tools of development are omitted, because it is a peer of @xfn/pipeline.
has_development_tools() {
  [ -e "$root/node_modules/@biomejs/biome/package.json" ]
}

# A Node that was installed into the checkout is recorded relative to it.
use_node() {
  recorded_node=$1
  case $1 in
    /*) node=$1 ;;
    *) node=$root/$1 ;;
  esac
}

# ---- Writable directories ----

# The program keeps images in $XDG_CACHE_HOME/xfn or ~/.cache/xfn. If neither is usable (a uid without passwd entry, a
# home of another user), the program and npm use a private folder under $TMPDIR.
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
  use_private_cache
}

use_private_cache() {
  cache=${TMPDIR:-/tmp}/xfn-$(id -u)
  private_folder "$cache"
  export XDG_CACHE_HOME="$cache"
}

# Makes $cache/xfn, from which programs run. A set-up that is current does not need it, and skips these checks.
need_cache() {
  # Make nothing in the home of another user.
  [ "$cache" != "${HOME-}/.cache" ] || trusted "$HOME" || use_private_cache
  mkdir -p "$cache" && { [ -d "$cache/xfn" ] || mkdir -m 700 "$cache/xfn"; } ||
    die "cannot write to $cache: set XDG_CACHE_HOME to a folder of your own"
  trusted "$cache/xfn" ||
    die "$cache/xfn is not safe as a cache, because other users can change $untrusted: set XDG_CACHE_HOME to a folder of your own"
}

# Succeeds if only this user and root can change this folder or replace it; packages/runner/src/trusted-folder.ts has the
# same rules.
trusted() {
  trusted_path=$(cd "$1" 2>/dev/null && pwd -P) || return 1
  untrusted=$trusted_path
  [ -O "$trusted_path" ] || return 1
  trusted_parents=no
  while :; do
    untrusted=$trusted_path
    # mode, links, user, group
    trusted_listing=$(ls -ldn "$trusted_path") || return 1
    trusted_mode=${trusted_listing%% *}
    set -- $trusted_listing
    # The user owns it, or root.
    [ "$3" = 0 ] || [ -O "$trusted_path" ] || unmapped "$3" || return 1
    case $trusted_mode in
      # In a sticky folder users can replace only their own files.
      ?????????[tT]*) trusted_sticky=yes ;;
      *) trusted_sticky=no ;;
    esac
    if [ "$trusted_parents$trusted_sticky" != yesyes ]; then
      case $trusted_mode in
        ????????w*) return 1 ;;
        ?????w*) [ "$4" = "$(id -g)" ] || return 1 ;;
      esac
    fi
    [ "$trusted_path" != / ] || return 0
    trusted_parents=yes
    trusted_path=${trusted_path%/*}
    trusted_path=${trusted_path:-/}
  done
}

# Files of users without a number in this user namespace, such as root's in a rootless container.
unmapped() {
  [ "$1" = 65534 ] && [ "$(tr -s ' ' </proc/self/uid_map 2>/dev/null)" != " 0 0 4294967295" ]
}

# Succeeds if this folder is writable or can be created.
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

# npm, vitest and turbo do not start without a home. Make one in the cache for a user without a home.
need_home() {
  if [ -z "${HOME-}" ] || ! usable "$HOME/.npm"; then
    need_cache
    export HOME="$cache/xfn/home"
    mkdir -p "$HOME"
    # `npm test` sets a cache below the unusable home.
    unset npm_config_cache
  fi
}

# Another user can guess the name and create it first, to make us run their files. So it must be a folder, not a link,
# that this user owns and that is closed to others.
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
  need_cache
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
    failure="cannot copy $root to $copy"
    interruptibly explained copy_files || exit 1
    chmod 700 "$copy"
    printf '%s\n' "$original" >"$copy/.xfn/original"
  fi
  unlock
  root=$copy
}

copy_files() {
  (cd "$root" && tar -cf "$copy/.xfn/copy.tar" --exclude node_modules --exclude dist --exclude .git --exclude .xfn \
    --exclude .turbo .) && (cd "$copy" && tar -xof .xfn/copy.tar) && rm "$copy/.xfn/copy.tar" || return
  # the copy must be writable where the original is not
  find "$copy" -name node_modules -prune -o \( -type d -o -type f \) -exec chmod u+w {} +
}

# Two set-ups of one checkout take turns. The kernel releases the lock when its holder exits. Systems without flock,
# such as macOS, do not take turns.
lock() {
  command -v flock >/dev/null || return 0
  exec 9>"$1"
  flock -n 9 && return 0
  say "waiting for another set-up of this checkout"
  interruptibly flock 9 || :
}

unlock() {
  exec 9>&-
}

# ---- Setting up ----

prepare() {
  find_npm
  find_node
  before=$(source_files)
  # A checkout that has the tools keeps them.
  ! has_development_tools || development=yes
  if ! installed; then
    if [ -n "$development" ]; then
      install_packages "installing packages and development tools" 594 --include=dev
    else
      install_packages "installing packages" 196 --omit=dev --omit=peer
    fi
  fi
  with_progress "building" : "the build failed" build || exit 1
  failure="cannot write to $root/.xfn"
  explained record || exit 1
}

# install_packages TITLE MEGABYTES OPTION...
install_packages() {
  packages_title=$1
  megabytes=$2
  shift 2
  with_progress "$packages_title (npm ci)" count_megabytes "npm could not install the packages" \
    run_npm "$root" ci "$@" || exit 1
}

installed() {
  [ -z "$development" ] || has_development_tools || return 1
  "$node" "$root/scripts/installed.ts" ${development:+--development}
}

record() {
  printf '%s\n' "$recorded_node" "$before" "$(product_files)" >"$root/.xfn/state.new" &&
    mv "$root/.xfn/state.new" "$root/.xfn/state"
}

# Checks no types, which takes as long as everything else: `npm run check` does.
build() (
  cd "$root" && "$node" node_modules/typescript/bin/tsc -b --noCheck && "$node" scripts/bundle-all.ts || return
  # npm packs a license only from the package's own folder
  for package in packages/*; do cp -f LICENSE "$package" || return; done
)

find_npm() {
  command -v npm >/dev/null && return 0
  if can_apt; then
    apt_install nodejs npm || exit 1
  else
    # crun is needed next, so print one command for both
    wanted="nodejs npm"
    command -v crun >/dev/null || wanted="$wanted crun"
    die "npm is not installed; as root: $(install_command $wanted)"
  fi
}

find_node() {
  for name in node nodejs; do
    candidate=$(command -v "$name") && new_enough "$candidate" || continue
    # resolve the shim of a version manager to the program
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
  with_progress "installing Node from the npm registry (Node $node_major or newer is not on the PATH)" : \
    "npm could not install Node" run_npm "$root/.xfn/node.new" ci || exit 1
  mv "$root/.xfn/node.new" "$root/.xfn/node"
  new_enough "$node" || die "the Node of the npm registry does not run here: install Node $node_major or newer"
}

new_enough() {
  version=$("$1" --version 2>/dev/null) || return 1
  version=${version#v}
  [ "${version%%.*}" -ge "$node_major" ] 2>/dev/null
}

# run_npm FOLDER ARGS: runs npm under the chosen Node, regardless of NODE_ENV and of an outer npm. It skips packages'
# install scripts, because no dependency needs them.
run_npm() (
  folder=$1
  shift
  [ ! -x "$node" ] || PATH=${node%/*}:$PATH
  need_home
  unset npm_config_local_prefix
  export npm_config_update_notifier=false
  # npm's own pauses of 10 and 60 s hide the reason of a failure, such as an untrusted certificate.
  export npm_config_fetch_retry_mintimeout="${npm_config_fetch_retry_mintimeout:-2000}"
  export npm_config_fetch_retry_maxtimeout="${npm_config_fetch_retry_maxtimeout:-5000}"
  cd "$folder"
  npm --prefix "$folder" "$@" --include=optional --ignore-scripts --no-audit --no-fund \
    --no-progress --loglevel=error
)

# ---- Packages of the system ----

# offer_crun: installs crun if it can, otherwise prints the command. Then the program continues: the user may have
# chosen another runtime, and the program reports a missing one itself.
offer_crun() {
  command -v crun >/dev/null && return 0
  if can_apt; then
    apt_install crun || :
  else
    say "crun is not installed; as root: $(install_command crun)"
  fi
}

# Succeeds if a render names files and no file seems to have functions: templates alone need no containers.
without_functions() {
  seen=
  for argument in "$@"; do
    [ "$argument" != - ] || return 1
    [ -f "$argument" ] || continue
    seen=yes
    ! grep -Eq '^([^#]*[^[:alnum:]_#-])?(functions|pipeline)["'\'']?[[:space:]]*:' "$argument" || return 1
  done
  [ -n "$seen" ]
}

can_apt() {
  command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]
}

apt_install() {
  with_progress "installing $* (apt-get)" : "apt-get could not install $*" apt_update_and_install "$@"
}

apt_update_and_install() {
  env DEBIAN_FRONTEND=noninteractive apt-get -q update &&
    env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends \
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
