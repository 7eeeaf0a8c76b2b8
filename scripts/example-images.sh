# Builds the images of an example that a `render` names, once per user and again after an edit of its functions. ./xfn
# sources it after scripts/setup.sh. Each line of examples/images.txt has a folder, relative to examples/, and the image
# name in the example's Composition.

build_example_images() {
  [ -r "$root/examples/images.txt" ] || return 0
  built=
  for argument in "$@"; do
    name_example "$argument"
    case " $built " in *" $example "*) ;; *)
      built="$built $example"
      build_images_of "$example"
      ;;
    esac
  done
}

build_images_of() {
  [ -n "$1" ] || return 0
  stamps=$cache/xfn/example-images$origin/$1
  # Compute the state once: most of the time there is nothing to build.
  whole=$(made_of "examples/$1")
  [ "$whole" != "$(cat "$stamps/whole" 2>/dev/null)" ] || return 0
  mkdir -p "$stamps"
  failed=
  while read -r folder image _; do
    case $folder in "$1"/*) ;; *) continue ;; esac
    stamp=$stamps/$(printf %s "$image" | tr / _).image
    part=$image$newline$(made_of "examples/$folder")
    [ "$part" != "$(cat "$stamp" 2>/dev/null)" ] || continue
    image_status=0
    with_progress "building the image $image (examples/$folder)" : "could not build the image $image" \
      "$node" "$root/packages/cli/dist/xfn.js" build "$root/examples/$folder" -t "$image" </dev/null || image_status=$?
    # Without the image, the program would ask a registry for it, and report that.
    [ "$image_status" != "$disk_full" ] || exit 1
    if [ "$image_status" = 0 ]; then write_stamp "$stamp" "$part"; else failed=yes; fi
  done <"$root/examples/images.txt"
  [ -n "$failed" ] || write_stamp "$stamps/whole" "$whole"
}

# The state of a folder and of everything that builds its image: the list of images, the builder and the SDK.
made_of() {
  cd "$root" && list "$1" examples/images.txt .xfn/state
}

write_stamp() {
  printf '%s\n' "$2" >"$1.new"
  mv "$1.new" "$1"
}

# Sets $example to the folder of examples/ that contains a path, or to nothing.
name_example() {
  example=
  [ -f "$1" ] || return 0
  case $1 in
    */*) folder=${1%/*} ;;
    *) folder=. ;;
  esac
  folder=$(cd "${folder:-/}" && pwd -P)/
  case $folder in
    "$origin"/examples/*)
      example=${folder#"$origin/examples/"}
      example=${example%%/*}
      ;;
  esac
}
