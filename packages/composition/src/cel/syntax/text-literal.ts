import { CelSyntaxError } from "./expression.ts";

const SIMPLE: ReadonlyMap<string, string> = new Map([
  ["a", "\u0007"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
  ["\\", "\\"],
  ["'", "'"],
  ['"', '"'],
  ["`", "`"],
  ["?", "?"],
]);

/**
 * Reads a literal of text or bytes.
 *
 * @param opening - its prefix and opening quote
 * @returns the value, and the position after the closing quote
 * @throws {CelSyntaxError}
 */
export function readText(source: string, at: number, opening: string): { value: string | Uint8Array; end: number } {
  const [, prefix = "", quote = ""] = /^([a-z]*)(.*)$/is.exec(opening) ?? [];
  const isRaw = /r/i.test(prefix);
  const isBytes = /b/i.test(prefix);
  const end = closingQuote(source, at + opening.length, quote, isRaw);
  const content = source.slice(at + opening.length, end);
  const value = isBytes ? bytesOf(content, isRaw) : isRaw ? content : unescaped(content);
  return { value, end: end + quote.length };
}

function closingQuote(source: string, from: number, quote: string, isRaw: boolean): number {
  for (let at = from; at < source.length; at++) {
    if (source.startsWith(quote, at)) return at;
    if (source[at] === "\\" && !isRaw) at++;
    else if (quote.length === 1 && (source[at] === "\n" || source[at] === "\r")) break;
  }
  throw new CelSyntaxError("a text has no closing quote");
}

const ESCAPE =
  /\\(?:x([0-9a-fA-F]{2})|X([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|([\s\S]?))/g;

function unescaped(content: string): string {
  return content.replaceAll(
    ESCAPE,
    (_, x?: string, upper?: string, u?: string, long?: string, octal?: string, char?: string) => {
      const hex = x ?? upper ?? u ?? long;
      if (hex !== undefined) return fromCodePoint(Number.parseInt(hex, 16));
      if (octal !== undefined) return fromCodePoint(Number.parseInt(octal, 8));
      return simple(char ?? "");
    },
  );
}

function bytesOf(content: string, isRaw: boolean): Uint8Array {
  if (isRaw) return Buffer.from(content);
  const parts: Uint8Array[] = [];
  let from = 0;
  for (const match of content.matchAll(ESCAPE)) {
    parts.push(Buffer.from(content.slice(from, match.index)));
    const [whole, x, upper, u, long, octal, char = ""] = match;
    if (u !== undefined || long !== undefined) throw new CelSyntaxError("\\u cannot be used in bytes");
    const hex = x ?? upper;
    if (hex !== undefined) parts.push(Uint8Array.of(Number.parseInt(hex, 16)));
    else if (octal !== undefined) parts.push(Uint8Array.of(Number.parseInt(octal, 8)));
    else parts.push(Buffer.from(simple(char)));
    from = match.index + whole.length;
  }
  parts.push(Buffer.from(content.slice(from)));
  return Buffer.concat(parts);
}

function simple(character: string): string {
  const value = SIMPLE.get(character);
  if (value === undefined) throw new CelSyntaxError(`unable to unescape \\${character}`);
  return value;
}

function fromCodePoint(code: number): string {
  if (code > 0x10_ff_ff || (code >= 0xd8_00 && code <= 0xdf_ff)) throw new CelSyntaxError("invalid unicode code point");
  return String.fromCodePoint(code);
}
