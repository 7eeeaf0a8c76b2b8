// One piece of a pattern. What is no syntax whatever it looks like comes first: quotations, escapes and character classes.
const PIECE =
  /(?<quotation>\\Q.*?(?:\\E|$))|(?<escape>\\(?:[pPx]\{[^}]*\}|[pP][^]|x..|[^]|$))|(?<class>\[\^?\]?(?:\\[^]|\[:\^?[a-z]*:\]|[^\]\\])*\])|(?<angle>\(\?<)|(?<open>\((?:\?P<[^>]*>|\?[a-zA-Z-]*:?)?)|(?<close>\))|\{(?<least>\d{1,4})(?<comma>,?)(?<most>\d{0,4})\}|[^]/gsu;

/** What is known of a pattern before it is compiled. */
export interface PatternFacts {
  /** Roughly the instructions that it compiles to: a repetition multiplies those of what it repeats. */
  size: number;
  /** Whether it has `(?<`: RE2 took to it as the begin of a named group only after Crossplane v1.13. */
  hasAngleGroup: boolean;
}

/** Looks through a pattern, which need not be valid. */
export function inspectPattern(pattern: string): PatternFacts {
  /** Sizes of the groups that are open, the innermost last. */
  const open: number[] = [];
  let size = 0;
  let last = 0;
  let hasAngleGroup = false;
  for (const { 0: text, groups = {} } of pattern.matchAll(PIECE)) {
    const { quotation, angle, close, least, comma, most } = groups;
    if (least !== undefined) {
      const times = most === undefined || most === "" ? Number(least) + (comma === "" ? 0 : 1) : Number(most);
      size += last * (times - 1);
      last *= times;
      continue;
    }
    if (angle !== undefined) hasAngleGroup = true;
    if (angle !== undefined || groups["open"] !== undefined) {
      open.push(size);
      size = 0;
      last = 0;
      continue;
    }
    if (close === undefined) {
      last = quotation === undefined ? 1 : text.length;
      size += last;
    } else {
      // The instructions of a group: its own, and two that note where it begins and ends.
      last = size + 2;
      size = last + (open.pop() ?? 0);
    }
  }
  return { size: open.reduce((sum, outer) => sum + outer, size), hasAngleGroup };
}
