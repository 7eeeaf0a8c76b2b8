// Go's quoting of strings and characters: strconv.Quote and its relatives.

// Go's strconv.IsPrint beyond ASCII: letters, marks, numbers, punctuation and symbols. The only space is U+0020.
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

/** Whether Go prints a character without escaping it. */
export function isPrintable(codePoint: number): boolean {
  if (codePoint < 0x7f) return codePoint >= 0x20;
  return PRINTABLE.test(String.fromCodePoint(codePoint));
}

const SHORT_ESCAPES: ReadonlyMap<number, string> = new Map([
  [7, "\\a"],
  [8, "\\b"],
  [9, "\\t"],
  [10, "\\n"],
  [11, "\\v"],
  [12, "\\f"],
  [13, "\\r"],
  [0x5c, "\\\\"],
]);

const PLAIN = /^[ !#-[\]-~]*$/;

/** Quotes a string as a double-quoted Go constant, with `asciiOnly` in ASCII. */
export function quote(text: string, asciiOnly: boolean): string {
  if (PLAIN.test(text)) return `"${text}"`;
  const parts: string[] = [];
  for (const character of text) parts.push(escaped(character.codePointAt(0) ?? 0, '"', asciiOnly));
  return `"${parts.join("")}"`;
}

/** Quotes a character as a single-quoted Go constant. */
export function quoteRune(codePoint: number, asciiOnly: boolean): string {
  return `'${escaped(isValidRune(codePoint) ? codePoint : 0xfffd, "'", asciiOnly)}'`;
}

/** Whether a number is a Unicode scalar value: in range, and not a surrogate. */
export function isValidRune(codePoint: number): boolean {
  return (codePoint >= 0 && codePoint < 0xd800) || (codePoint > 0xdfff && codePoint <= 0x10ffff);
}

function escaped(codePoint: number, delimiter: string, asciiOnly: boolean): string {
  const short = SHORT_ESCAPES.get(codePoint);
  if (short !== undefined) return short;
  if (codePoint === delimiter.charCodeAt(0)) return `\\${delimiter}`;
  // A lone surrogate stands for a byte of invalid UTF-8, or for U+FFFD.
  if (codePoint >= 0xdc80 && codePoint <= 0xdcff) return `\\x${hex(codePoint - 0xdc00, 2)}`;
  if (!isValidRune(codePoint)) return escaped(0xfffd, delimiter, asciiOnly);
  if (isPrintable(codePoint) && (codePoint < 0x80 || !asciiOnly)) return String.fromCodePoint(codePoint);
  if (codePoint < 0x20 || codePoint === 0x7f) return `\\x${hex(codePoint, 2)}`;
  return codePoint < 0x1_0000 ? `\\u${hex(codePoint, 4)}` : `\\U${hex(codePoint, 8)}`;
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}

// Control characters other than tab, the delimiter, a byte order mark, and bytes of invalid UTF-8.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
const NOT_BACKQUOTABLE = /[\u0000-\u0008\u000a-\u001f`\u007f\ufeff]/;

/** Whether Go can quote a text with backquotes. */
export function canBackquote(text: string): boolean {
  return !NOT_BACKQUOTABLE.test(text) && text.isWellFormed();
}
