import { escapeControls } from "@xfn/program/terminal-text";

// The end has the reason; more lines would scroll the message away. The details of an error have 20 lines: the heading,
// these, and a hint.
const MAX_LINES = 18;
const MAX_COLUMNS = 500;

/**
 * The end of a function's stderr, as lines that differ from xfn's own. None for empty stderr.
 *
 * @param whose - whose stderr it is
 * @param maxLines - the number of lines at the end that are shown
 */
export function functionStderr(text: string, whose = "the function's", maxLines: number = MAX_LINES): string[] {
  if (text.trim() === "") return [];
  const lines = text.trimEnd().split("\n");
  const tail = lines.slice(-maxLines).map((line) => `  | ${escapeControls(line.trimEnd()).slice(0, MAX_COLUMNS)}`);
  return [lines.length > maxLines ? `the end of ${whose} stderr:` : `${whose} stderr:`, ...tail];
}
