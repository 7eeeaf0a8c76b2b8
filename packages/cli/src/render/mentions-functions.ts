import { readFileSync, statSync } from "node:fs";

// Compositions are a few KiB. What is larger is only read once, by the parser.
const MAX_BYTES = 1024 * 1024;

/** A key `functions`, on a line that is no comment. */
const FUNCTIONS = /^(?![ \t]*#).*?\bfunctions["']?[ \t]*:/m;

/**
 * Whether a Composition's file seems to have functions. It is a hint, taken before the parser is loaded, so that
 * containers can be prepared meanwhile: what it says is not relied upon.
 */
export function mentionsFunctions(file: string): boolean {
  try {
    const stat = statSync(file);
    // A pipe can be read but once.
    return stat.isFile() && stat.size <= MAX_BYTES && FUNCTIONS.test(readFileSync(file, "utf8"));
  } catch {
    // Whoever reads it in earnest says what is wrong.
    return false;
  }
}
