/** Go's YAML printers break a text at the first space after this column. */
const BEST_WIDTH = 80;

/** The start of a line: its indentation, and the dashes of lists. */
const START = /^ *(?:- )*/;
/** A key in quotes, or up to the first colon. */
const KEY = /^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^"'\s][^:]*(?::(?! )[^:]*)*): /;
const BLOCK = /^[|>][-+0-9]*$/;

/**
 * Folds long lines of printed YAML as Go's printers do, and `crossplane render` with them. Blocks, which hold texts of
 * several lines, stay as they are.
 */
export function foldLines(yaml: string): string {
  const folded: string[] = [];
  /** The column of the block's key or dash. Lines of the block are further to the right. */
  let block: number | undefined;
  for (const line of yaml.split("\n")) {
    const indent = line.length - line.trimStart().length;
    if (block !== undefined && (line.trim() === "" || indent > block)) {
      folded.push(line);
      continue;
    }
    block = undefined;
    const start = START.exec(line)?.[0] ?? "";
    const rest = line.slice(start.length);
    const key = KEY.exec(rest)?.[0] ?? "";
    const value = rest.slice(key.length);
    // The value of a list's item belongs to its dash.
    const column = key === "" && start.endsWith("- ") ? start.length - 2 : start.length;
    if (BLOCK.test(value)) block = column;
    folded.push(line.length > BEST_WIDTH ? start + key + foldText(value, start.length + key.length, column + 2) : line);
  }
  return folded.join("\n");
}

/** Breaks a text that starts in a column. Further lines have this indentation. */
function foldText(text: string, start: number, indent: number): string {
  const isDouble = text.startsWith('"');
  const isQuoted = isDouble || text.startsWith("'");
  // Quoted texts do not break next to their quotes.
  const [first, last] = isQuoted ? [2, text.length - 3] : [0, text.length - 1];
  let folded = "";
  let column = start;
  let afterSpace = false;
  for (let index = 0; index < text.length; index += 1) {
    const char = text.charAt(index);
    const beforeSpace = text.charAt(index + 1) === " ";
    const breaks = char === " " && !afterSpace && column > BEST_WIDTH && index >= first && index <= last;
    if (breaks && (isDouble || !beforeSpace)) {
      folded += `\n${" ".repeat(indent)}${isDouble && beforeSpace ? "\\" : ""}`;
      column = indent + (isDouble && beforeSpace ? 1 : 0);
    } else {
      folded += char;
      // Go counts code points. JavaScript counts both surrogates of a pair.
      if (!/[\uDC00-\uDFFF]/.test(char)) column += 1;
    }
    afterSpace = char === " ";
  }
  return folded;
}
