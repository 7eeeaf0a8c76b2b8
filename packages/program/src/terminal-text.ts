import { escapeControls } from "@xfn/units";

export { escapeControls } from "@xfn/units";

/** The most characters of a line: an error message can have several paths. */
export const MAX_LINE_LENGTH = 2000;

/** Escapes control characters, joins the lines with spaces, and cuts the text after `limit` characters. */
export function oneLine(text: string, limit: number = MAX_LINE_LENGTH): string {
  // A regular expression would take quadratic time on spaces within a line.
  const lines = text.split("\n").map((one) => one.trim());
  const line = escapeControls(lines.filter((one) => one !== "").join(" "));
  return line.length <= limit ? line : `${line.slice(0, limit)}...`;
}
