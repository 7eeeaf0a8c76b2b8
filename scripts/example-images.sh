# Builds the images of an example that a `render` names, once per user, and again when a function of it was edited.
# Sourced by ./xfn after scripts/setup.sh. examples/images.txt lists them: a folder (relative to examples/) and the name
# that the example's composition uses, one pair per line.

build_example_images() {
  [ -r "$root/examples/images.txt" ] || return 0
  examples=$(named_examples "$@")
  [ -n "$examples" ] || return 0
  stamps=$cache/xfn/example-images-$(printf %s "$origin" | cksum | tr ' ' -)
  while read -r folder image _; do
    case $folder in '' | '#'*) continue ;; esac
    case $newline$examples$newline in *"$newline${folder%%/*}$newline"*) ;; *) continue ;; esac
    stamp=$stamps/$(printf %s "$image" | tr /: __)
    # what the image is made of: the function, and (state) the SDK and the builder
    made_of=$image$newline$(cd "$root" && list "examples/$folder" .xfn/state)
    [ "$made_of" = "$(cat "$stamp" 2>/dev/null)" ] && continue
    say "building the image $image (examples/$folder)"
    if quietly "$node" "$root/packages/cli/dist/main.js" build "$root/examples/$folder" -t "$image" </dev/null; then
      mkdir -p "$stamps"
      printf '%s\n' "$made_of" >"$stamp.new"
      mv "$stamp.new" "$stamp"
    else
      say "could not build the image $image: see above"
    fi
  done <"$root/examples/images.txt"
}

# The folders of examples/ that the arguments are files of, one a line.
named_examples() {
  for argument in "$@"; do
    [ -f "$argument" ] || continue
    case $argument in
      */*) folder=${argument%/*} ;;
      *) folder=. ;;
    esac
    folder=$(cd "${folder:-/}" && pwd -P)/
    case $folder in
      "$origin"/examples/*)
        folder=${folder#"$origin/examples/"}
        printf '%s\n' "${folder%%/*}"
        ;;
    esac
  done
}
