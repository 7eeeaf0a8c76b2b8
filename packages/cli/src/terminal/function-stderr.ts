import { escapeControls } from "@xfn/program/terminal-text";

// The end has the reason; more lines would scroll the message away.
const MAX_LINES = 20;
const MAX_COLUMNS = 500;

/** The end of a function's stderr, as lines that differ from xfn's own. None for empty stderr. */
export function functionStderr(text: string): string[] {
  if (text.trim() === "") return [];
  const lines = text.trimEnd().split("\n");
  const tail = lines.slice(-MAX_LINES).map((line) => `  | ${escapeControls(line.trimEnd()).slice(0, MAX_COLUMNS)}`);
  return [lines.length > MAX_LINES ? "the end of the function's stderr:" : "the function's stderr:", ...tail];
}
