import { diff } from "node:util";

/** A line of a difference: unchanged, removed or added. */
interface Line {
  readonly sign: " " | "-" | "+";
  readonly text: string;
}

// Unchanged lines around a change, as in `diff -u`.
const CONTEXT = 3;

// The time and memory of a comparison grow with the square of the changed lines.
const MAX_COMPARED = 4000;

/** Colours for the lines of a difference. */
export interface DifferenceColours {
  removed(line: string): string;
  added(line: string): string;
  title(line: string): string;
}

const PLAIN: DifferenceColours = { removed: (line) => line, added: (line) => line, title: (line) => line };

/**
 * The difference of two texts in the unified format, without the names of files. Empty for equal texts.
 *
 * @param paint - default: no colours
 */
export function lineDifference(before: string, after: string, paint: DifferenceColours = PLAIN): string {
  if (before === after) return "";
  const lines = compared(linesOf(before), linesOf(after));
  const shown = new Set<number>();
  for (const [index, { sign }] of lines.entries()) {
    if (sign === " ") continue;
    for (let at = index - CONTEXT; at <= index + CONTEXT; at++) shown.add(at);
  }
  const colour = { " ": (line: string) => line, "-": paint.removed, "+": paint.added };
  let text = "";
  let oldLine = 1;
  let newLine = 1;
  for (const [index, { sign, text: content }] of lines.entries()) {
    if (shown.has(index)) {
      if (!shown.has(index - 1) || index === 0) text += `${paint.title(`@@ -${oldLine} +${newLine} @@`)}\n`;
      text += `${colour[sign](`${sign}${content}`)}\n`;
    }
    if (sign !== "+") oldLine += 1;
    if (sign !== "-") newLine += 1;
  }
  return text;
}

function linesOf(text: string): string[] {
  return text.replace(/\n$/, "").split("\n");
}

function compared(before: readonly string[], after: readonly string[]): Line[] {
  const start = common(before, after, (lines, index) => lines[index]);
  const end = common(before.slice(start), after.slice(start), (lines, index) => lines[lines.length - 1 - index]);
  const kept = (lines: readonly string[]): Line[] => lines.map((text) => ({ sign: " ", text }));
  const old = before.slice(start, before.length - end);
  const fresh = after.slice(start, after.length - end);
  const changed: Line[] =
    old.length + fresh.length > MAX_COMPARED
      ? [...old.map((text): Line => ({ sign: "-", text })), ...fresh.map((text): Line => ({ sign: "+", text }))]
      : diff(old, fresh).map(([sign, text]) => ({ sign: sign === 0 ? " " : sign > 0 ? "-" : "+", text }));
  return [...kept(before.slice(0, start)), ...changed, ...kept(before.slice(before.length - end))];
}

/** The number of equal lines from one end. */
function common(
  before: readonly string[],
  after: readonly string[],
  at: (lines: readonly string[], index: number) => string | undefined,
): number {
  const most = Math.min(before.length, after.length);
  let count = 0;
  while (count < most && at(before, count) === at(after, count)) count += 1;
  return count;
}
