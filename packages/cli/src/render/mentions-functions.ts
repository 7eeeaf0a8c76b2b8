import { readFileSync, statSync } from "node:fs";

// Compositions are a few KiB. Larger files are read once, by the parser.
const MAX_BYTES = 1024 * 1024;

/** A key `functions`, on a line that is not a comment. */
const FUNCTIONS = /^(?![ \t]*#).*?\bfunctions["']?[ \t]*:/m;

/**
 * Guesses whether a Composition's file has functions, before the parser is loaded, so that containers can be prepared
 * meanwhile. A wrong guess costs time only.
 */
export function mentionsFunctions(file: string): boolean {
  try {
    const stat = statSync(file);
    // A pipe can be read only once.
    return stat.isFile() && stat.size <= MAX_BYTES && FUNCTIONS.test(readFileSync(file, "utf8"));
  } catch {
    // The parser reads the file again and reports the error.
    return false;
  }
}
