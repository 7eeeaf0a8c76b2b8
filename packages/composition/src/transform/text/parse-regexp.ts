import { createRequire } from "node:module";
import type { RE2JS } from "re2js";
import { unnameDuplicateGroups } from "./regexp-pattern.ts";

// The library's size is a third of a megabyte, so the first regexp loads it. `require` is synchronous, like compiling.
let library: typeof import("re2js") | undefined;

/**
 * Parses a regexp in RE2 syntax, as Go does: two groups may have the same name. re2js rejects that, and our callers
 * use the numbers of groups only, so just the first one keeps its name. Returns the reason if the pattern is invalid.
 */
export function parseRegexp(pattern: string): RE2JS | { readonly reason: string } {
  const regexp = parse(pattern);
  return "reason" in regexp ? parse(unnameDuplicateGroups(pattern)) : regexp;
}

function parse(pattern: string): RE2JS | { readonly reason: string } {
  library ??= loadLibrary();
  try {
    return library.RE2JS.compile(pattern);
  } catch (error) {
    return { reason: error instanceof library.RE2JSSyntaxException ? error.getDescription() : "it does not compile" };
  }
}

// Resolves from this package, because a bundler can put this file elsewhere.
function loadLibrary(): typeof import("re2js") {
  return createRequire(import.meta.resolve("@xfn/composition"))("re2js") as typeof import("re2js");
}
