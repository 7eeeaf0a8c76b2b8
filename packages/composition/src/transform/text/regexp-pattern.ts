// One token of a pattern. Quotations, escapes and character classes come first: their content is not syntax.
const PIECE =
  /(?<quotation>\\Q.*?(?:\\E|$))|(?<escape>\\(?:[pPx]\{[^}]*\}|[pP][^]|x..|[^]|$))|(?<class>\[\^?\]?(?:\\[^]|\[:\^?[a-z]*:\]|[^\]\\])*\])|(?<angle>\(\?<(?:[^>=!][^>]*>)?)|(?<open>\((?:\?P<[^>]*>|\?[a-zA-Z-]*:?)?)|(?<close>\))|\{(?<least>\d{1,4})(?<comma>,?)(?<most>\d{0,4})\}|[^]/gsu;

/** Properties of a pattern that is not compiled yet. */
export interface PatternFacts {
  /** An estimate of its instructions: a repetition multiplies those of its operand. */
  size: number;
  /** Whether it has `(?<`, which RE2 accepts for a named group only since Crossplane v1.13. */
  hasAngleGroup: boolean;
}

/** Inspects a pattern, which may be invalid. */
export function inspectPattern(pattern: string): PatternFacts {
  /** The sizes of the open groups, the innermost last. */
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
      // A group needs two more instructions, for its start and its end.
      last = size + 2;
      size = last + (open.pop() ?? 0);
    }
  }
  return { size: open.reduce((sum, outer) => sum + outer, size), hasAngleGroup };
}

/** Removes the names of groups whose name an earlier group has. The numbers of groups stay the same. */
export function unnameDuplicateGroups(pattern: string): string {
  const seen = new Set<string>();
  return pattern.replace(PIECE, (text) => {
    const name = /^\(\?P?<(.+)>$/s.exec(text)?.[1];
    if (name === undefined) return text;
    if (seen.has(name)) return "(";
    seen.add(name);
    return text;
  });
}
