import { Char, type Cursor, isBlank, isFlowIndicator } from "./cursor.ts";

/** Reads the part of a plain scalar that is on this line. The cursor stands on its first character. */
export function readPlainLine(cursor: Cursor, flow: boolean): string {
  const { text } = cursor;
  const start = cursor.pos;
  let end = start;
  for (let at = start; ; at++) {
    const c = text.charCodeAt(at);
    if (c === Char.Space || c === Char.Tab) continue;
    if (c === Char.Newline || Number.isNaN(c)) break;
    if (c === Char.Colon) {
      const next = text.charCodeAt(at + 1);
      if (isBlank(next) || (flow && isFlowIndicator(next))) break;
    } else if (c === Char.Hash) {
      if (at > end) break;
    } else if (flow && isFlowIndicator(c)) break;
    end = at + 1;
  }
  cursor.pos = end;
  return text.slice(start, end);
}

/** Reads the further lines of a plain scalar: a line's end is a space, n empty lines are n line ends. */
export function readPlainRest(cursor: Cursor, first: string, parent: number, flow: boolean): string {
  const { text } = cursor;
  let value = first;
  for (;;) {
    const { pos, lineStart } = cursor;
    let breaks = 0;
    cursor.skipSpace();
    while (cursor.peek() === Char.Newline) {
      cursor.newline();
      cursor.skipSpace();
      breaks++;
    }
    const c = cursor.peek();
    const ends =
      breaks === 0 ||
      cursor.column() <= (flow ? -1 : parent) ||
      c === Char.Hash ||
      (flow && (isFlowIndicator(c) || (c === Char.Colon && isBlank(text.charCodeAt(cursor.pos + 1)))));
    if (ends) {
      cursor.pos = pos;
      cursor.lineStart = lineStart;
      return value;
    }
    const line = readPlainLine(cursor, flow);
    if (line === "") cursor.fail('unexpected ":"; quote the text if it belongs to it');
    value += (breaks === 1 ? " " : "\n".repeat(breaks - 1)) + line;
  }
}

/** Whether a plain scalar may begin at the cursor. */
export function startsPlain(cursor: Cursor, flow: boolean): boolean {
  const c = cursor.peek();
  switch (c) {
    case Char.Minus:
    case Char.Question:
    case Char.Colon: {
      const next = cursor.peek(1);
      return !isBlank(next) && !(flow && isFlowIndicator(next));
    }
    case Char.Comma:
    case Char.OpenBracket:
    case Char.CloseBracket:
    case Char.OpenBrace:
    case Char.CloseBrace:
    case Char.Hash:
    case Char.Ampersand:
    case Char.Asterisk:
    case Char.Exclamation:
    case Char.Pipe:
    case Char.Greater:
    case Char.SingleQuote:
    case Char.DoubleQuote:
    case Char.Percent:
    case Char.At:
    case Char.Backtick:
      return false;
    default:
      return !isBlank(c);
  }
}

/** Reads a quoted scalar. The cursor stands on its opening quote. */
export function readQuoted(cursor: Cursor): string {
  const { text } = cursor;
  const opening = cursor.pos;
  const quote = cursor.peek();
  const double = quote === Char.DoubleQuote;
  let value = "";
  /** Text up to here came from escapes and is not trimmed at a line's end. */
  let fixed = 0;
  cursor.pos++;
  let from = cursor.pos;
  for (;;) {
    const c = text.charCodeAt(cursor.pos);
    if (c === quote) {
      value += text.slice(from, cursor.pos++);
      if (double || cursor.peek() !== Char.SingleQuote) return value;
      from = cursor.pos++;
    } else if (double && c === Char.Backslash) {
      value += text.slice(from, cursor.pos);
      value += readEscape(cursor);
      from = cursor.pos;
      fixed = value.length;
    } else if (c === Char.Newline) {
      value += text.slice(from, cursor.pos);
      value = value.slice(0, fixed) + value.slice(fixed).replace(/[ \t]+$/, "") + foldLines(cursor, opening);
      from = cursor.pos;
      fixed = value.length;
    } else if (Number.isNaN(c)) cursor.fail("is a quoted text that never ends", opening);
    else cursor.pos++;
  }
}

/** Goes over line ends inside a quoted scalar and returns what they stand for. */
function foldLines(cursor: Cursor, opening: number): string {
  let breaks = 0;
  while (cursor.peek() === Char.Newline) {
    cursor.newline();
    breaks++;
    if (cursor.atMarker()) cursor.fail("is a quoted text that goes on beyond its document", opening);
    cursor.skipSpace();
  }
  return breaks === 1 ? " " : "\n".repeat(breaks - 1);
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["0", "\0"],
  ["a", "\x07"],
  ["b", "\b"],
  ["t", "\t"],
  ["\t", "\t"],
  ["n", "\n"],
  ["v", "\v"],
  ["f", "\f"],
  ["r", "\r"],
  ["e", "\x1b"],
  [" ", " "],
  ['"', '"'],
  ["/", "/"],
  ["\\", "\\"],
  ["N", "\x85"],
  ["_", "\xa0"],
  ["L", "\u2028"],
  ["P", "\u2029"],
]);
const HEX_DIGITS: ReadonlyMap<string, number> = new Map([
  ["x", 2],
  ["u", 4],
  ["U", 8],
]);

function readEscape(cursor: Cursor): string {
  const start = cursor.pos;
  const letter = cursor.text[start + 1] ?? "";
  cursor.pos += 2;
  if (letter === "\n") {
    // An escaped line end joins the lines; empty lines after it are kept.
    cursor.lineStart = cursor.pos;
    cursor.skipSpace();
    return cursor.peek() === Char.Newline ? foldLines(cursor, start).replace(" ", "\n") : "";
  }
  const digits = HEX_DIGITS.get(letter);
  if (digits === undefined) return ESCAPES.get(letter) ?? cursor.fail(`\\${letter} is not an escape`, start);
  const hex = cursor.text.slice(cursor.pos, cursor.pos + digits);
  const point = /^[0-9a-fA-F]+$/.test(hex) && hex.length === digits ? Number.parseInt(hex, 16) : -1;
  if (point < 0 || point > 0x10ffff) cursor.fail(`\\${letter}${hex} is not a character`, start);
  cursor.pos += digits;
  // Two \u escapes make one character beyond U+FFFF, as in JSON.
  return String.fromCodePoint(point);
}

/** Reads a block scalar (`|` or `>`). The cursor stands on its indicator; it ends at the start of a line. */
export function readBlockScalar(cursor: Cursor, parent: number): string {
  const { text } = cursor;
  const folded = cursor.peek() === Char.Greater;
  const header = /^[|>](?:([1-9])([+-])?|([+-])([1-9])?)?(?:[ \t]+(?:#.*)?)?(?=\n|$)/;
  const end = text.indexOf("\n", cursor.pos);
  const line = text.slice(cursor.pos, end === -1 ? text.length : end);
  const match = header.exec(line);
  if (match === null) cursor.fail("expected a line's end after | or >; quote the text if it is text");
  const chomp = match[2] ?? match[3] ?? "";
  const digit = match[1] ?? match[4];
  cursor.pos += line.length;
  if (cursor.pos < text.length) cursor.newline();
  const indent = digit === undefined ? detectIndent(cursor, parent) : Math.max(parent, 0) + Number(digit);
  const { lines, ended } = readBlockLines(cursor, indent, parent);

  let trailing = 0;
  while (trailing < lines.length && lines[lines.length - 1 - trailing] === "") trailing++;
  const content = lines.slice(0, lines.length - trailing);
  const body = folded ? fold(content) : content.join("\n");
  if (chomp === "-") return body;
  if (chomp === "+") return body + "\n".repeat(content.length === 0 ? trailing : trailing + (ended || trailing > 0 ? 1 : 0));
  return content.length > 0 && (ended || trailing > 0) ? `${body}\n` : body;
}

/** The indentation of the first line with text; the cursor does not move. */
function detectIndent(cursor: Cursor, parent: number): number {
  const { text } = cursor;
  let widest = 0;
  for (let start = cursor.pos; ; ) {
    let at = start;
    while (text.charCodeAt(at) === Char.Space) at++;
    const indent = at - start;
    if (text.charCodeAt(at) === Char.Newline) {
      widest = Math.max(widest, indent);
      start = at + 1;
      continue;
    }
    if (at >= text.length || indent <= parent) return Math.max(parent + 1, widest);
    if (widest > indent) cursor.fail("an empty line before the text has more spaces than the text", at);
    return indent;
  }
}

function readBlockLines(cursor: Cursor, indent: number, parent: number): { lines: string[]; ended: boolean } {
  const { text } = cursor;
  const lines: string[] = [];
  let ended = true;
  while (cursor.pos < text.length) {
    if (cursor.atMarker() && parent < 0) break;
    const limit = cursor.pos + indent;
    let at = cursor.pos;
    while (at < limit && text.charCodeAt(at) === Char.Space) at++;
    const c = text.charCodeAt(at);
    if (at < limit && c !== Char.Newline && !Number.isNaN(c)) break;
    const found = text.indexOf("\n", at);
    const end = found === -1 ? text.length : found;
    ended = found !== -1;
    lines.push(text.slice(at, end));
    cursor.pos = end;
    if (ended) cursor.newline();
  }
  return { lines, ended };
}

/** Joins the lines of a folded scalar: lines that begin with white space, and their neighbours, stay lines. */
function fold(lines: readonly string[]): string {
  let value = "";
  let empty = 0;
  let started = false;
  let verbatim = false;
  for (const line of lines) {
    if (line === "") {
      empty++;
      continue;
    }
    const more = line.startsWith(" ") || line.startsWith("\t");
    if (!started) value += "\n".repeat(empty);
    else if (more || verbatim) value += "\n".repeat(empty + 1);
    else value += empty === 0 ? " " : "\n".repeat(empty);
    value += line;
    started = true;
    verbatim = more;
    empty = 0;
  }
  return value;
}
