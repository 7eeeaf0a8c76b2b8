# Reads JSON with nothing but POSIX awk.
#
#   awk -f json.awk get PATH     prints the value at PATH as it is written in the document; null if there is none
#   awk -f json.awk before PATH  prints the document up to the end of the array at PATH,
#   awk -f json.awk after PATH   and what follows: JSON printed between the two is one more element of that array
#
# PATH is a list of keys, such as observed.composite.resource.spec; the document is read from standard input. Values are
# never decoded: a string keeps its quotes and escapes, so that it can stand in other JSON as it is, whatever it says,
# and a number keeps all its digits. Keys are compared as they are written; JSON printers do not escape letters.
#
# Cut at its quotes, a document falls into pieces that lie outside and inside of strings in turn. So nothing that a
# string says is taken for structure, and the time that this needs grows only with the size of the document.

BEGIN {
  ORS = ""
  mode = ARGV[1]
  wanted = ARGV[2]
  if (mode !~ /^(get|before|after)$/ || wanted == "") fail("usage: awk -f json.awk get|before|after PATH")
  ARGC = 1 # so that awk takes neither of them for a file to read
  # Keys are joined by SUBSEP, a control character, which JSON never contains: a dot within a key separates nothing.
  gsub(/\./, SUBSEP, wanted)
  wanted = SUBSEP wanted
  while ((getline line) > 0) document = document line "\n"
  walk()
  if (mode != "get") cut()
  else if (wanted in first) print substr(document, first[wanted], last[wanted] - first[wanted] + 1) "\n"
  else print "null\n"
}

function fail(message) {
  print "json.awk: " message "\n" | "cat >&2"
  close("cat >&2")
  exit 1
}

# Notes in first[] and last[] where the wanted value and those around it begin and end.
function walk(    piece, pieces, i, j, at, string) {
  pieces = split(document, piece, "\"")
  at = 1 # where the piece begins
  for (i = 1; i <= pieces; i++) {
    if (!string) {
      for (j = 1; j <= length(piece[i]); j++) structure(substr(piece[i], j, 1), at + j - 1)
      at += length(piece[i])
      string = i < pieces
      if (key_next) key[depth] = ""
      else if (string) begin(at)
    } else {
      at += length(piece[i])
      string = escapes(piece[i])
      if (key_next) key[depth] = key[depth] piece[i] (string ? "\"" : "")
      else if (!string) end(at)
    }
    at++ # the quote
  }
  if (!("" in last) || depth) fail("the document is not JSON")
}

# Whether a quote after this text is a part of the string: an odd number of backslashes comes before it.
function escapes(text,    n) {
  while (n < length(text) && substr(text, length(text) - n, 1) == "\\") n++
  return n % 2
}

# Takes one character from outside of strings.
function structure(char, at) {
  if (index("{}[],: \t\r\n", char) == 0) {
    if (!literal) begin(at)
    literal = at
    return
  }
  if (literal) end(literal) # a number, true, false or null
  literal = 0
  if (char == "{" || char == "[") {
    begin(at)
    depth++
    kind[depth] = char
    item[depth] = 0
    key_next = char == "{"
  } else if (char == "}" || char == "]") {
    depth--
    key_next = 0
    end(at)
  } else if (char == ",") {
    item[depth]++
    key_next = kind[depth] == "{"
  } else if (char == ":") key_next = 0
}

function begin(at) {
  path[depth] = depth == 0 ? "" : path[depth - 1] SUBSEP (kind[depth] == "{" ? key[depth] : item[depth])
  if (depth > 0 && path[depth - 1] in first) filled[path[depth - 1]] = 1
  if (index(wanted SUBSEP, path[depth] SUBSEP) == 1) first[path[depth]] = at
}

function end(at) {
  if (path[depth] in first) last[path[depth]] = at
}

# Prints one side of the place where the array ends. What is missing on the way to it, or null, is made.
function cut(    at, open, shut, opening, closing, head, tail) {
  open = "["
  shut = "]"
  for (at = wanted; !(at in first); at = substr(at, 1, RSTART - 1)) {
    match(at, SUBSEP "[^" SUBSEP "]*$")
    opening = "\"" substr(at, RSTART + 1) "\":" open opening
    closing = closing shut
    open = "{"
    shut = "}"
  }
  if (substr(document, first[at], 1) == open) {
    head = substr(document, 1, last[at] - 1) (at in filled ? "," : "")
    tail = substr(document, last[at])
  } else if (substr(document, first[at], 4) == "null") {
    head = substr(document, 1, first[at] - 1) open
    tail = shut substr(document, last[at] + 1)
  } else fail("there is no room for an array at " ARGV[2])
  print mode == "before" ? head opening : closing tail
}
