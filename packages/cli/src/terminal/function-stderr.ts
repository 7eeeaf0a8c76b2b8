import { escapeControls } from "@xfn/program/terminal-text";

// The end tells why; a function that logs a lot must not scroll the message itself away.
const MAX_LINES = 20;
const MAX_COLUMNS = 500;

/** The end of what a function wrote to stderr, as lines that cannot be taken for xfn's own. None for nothing. */
export function functionStderr(text: string): string[] {
  if (text.trim() === "") return [];
  const lines = text.trimEnd().split("\n");
  const tail = lines.slice(-MAX_LINES).map((line) => `  | ${escapeControls(line.trimEnd()).slice(0, MAX_COLUMNS)}`);
  return [lines.length > MAX_LINES ? "the end of the function's stderr:" : "the function's stderr:", ...tail];
}
