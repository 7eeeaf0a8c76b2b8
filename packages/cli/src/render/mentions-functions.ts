import { readFileSync, statSync } from "node:fs";
import type { RenderFiles } from "./render-options.ts";

// Compositions are a few KiB. Larger files are read once, by the parser.
const MAX_BYTES = 1024 * 1024;

/** A key `functions` or `pipeline`, on a line that is not a comment. */
const FUNCTIONS = /^(?![ \t]*#).*?\b(functions|pipeline)["']?[ \t]*:/m;

/**
 * Guesses whether a Composition's file has functions, before the parser is loaded, so that containers can be prepared
 * meanwhile. A wrong guess costs time only.
 */
export function mentionsFunctions(file: string): boolean {
  return FUNCTIONS.test(textOf(file));
}

/** A `Function` document, and its annotation for a server that runs already. Comments do not match. */
const FUNCTION = /^(?![ \t]*#).*?\bkind["']?[ \t]*:[ \t]*["']?Function\b/gm;
const RUNNING = /^(?![ \t]*#).*?\bruntime["']?[ \t]*:[ \t]*["']?Development\b/gm;

/** Guesses whether all Functions of a file run already, so that no container needs to be prepared. */
export function mentionsOnlyRunning(file: string): boolean {
  const text = textOf(file);
  const count = (pattern: RegExp): number => text.match(pattern)?.length ?? 0;
  return count(FUNCTION) > 0 && count(RUNNING) >= count(FUNCTION);
}

/** Guesses whether a render needs containers. A wrong guess prepares them in vain, or later. */
export function needsContainers({ composition, functions }: Pick<RenderFiles, "composition" | "functions">): boolean {
  return mentionsFunctions(composition) && !(functions !== undefined && mentionsOnlyRunning(functions));
}

/** Empty if it cannot be read: the parser reads the file again and reports the error. */
function textOf(file: string): string {
  try {
    const stat = statSync(file);
    // A pipe can be read only once.
    return stat.isFile() && stat.size <= MAX_BYTES ? readFileSync(file, "utf8") : "";
  } catch {
    return "";
  }
}
