import { Uint } from "../values/value.ts";
import { CelSyntaxError } from "./expression.ts";
import { readText } from "./text-literal.ts";

/** A token of an expression. */
export type Token =
  | { readonly kind: "ident" | "symbol"; readonly text: string }
  | { readonly kind: "literal"; readonly text: string; readonly value: bigint | number | string | Uint8Array | Uint }
  | { readonly kind: "end"; readonly text: string };

const SYMBOLS = /(?:&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()[\]{}])/y;
const NUMBER = /(?:0x[0-9a-fA-F]+[uU]?|\d+\.\d+(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+|\d+[uU]?)/y;
const TEXT = /(?:[rR]?[bB]|[bB]?[rR])?(?:"""|'''|"|')/y;
const IDENT = /[A-Za-z_][A-Za-z0-9_]*/y;
const SPACE = /(?:[ \t\r\n\f]+|\/\/[^\n]*)/y;

/**
 * Splits an expression into tokens.
 *
 * @throws {CelSyntaxError}
 */
export function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  const match = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(source)?.[0];
  };
  while (at < source.length) {
    const space = match(SPACE);
    if (space !== undefined) {
      at += space.length;
      continue;
    }
    const opening = match(TEXT);
    if (opening !== undefined) {
      const { value, end } = readText(source, at, opening);
      tokens.push({ kind: "literal", text: source.slice(at, end), value });
      at = end;
      continue;
    }
    const ident = match(IDENT);
    const number = ident === undefined ? match(NUMBER) : undefined;
    const text = ident ?? number ?? match(SYMBOLS);
    if (text === undefined) throw new CelSyntaxError(`unexpected character ${JSON.stringify(source.charAt(at))}`);
    if (number !== undefined) tokens.push({ kind: "literal", text, value: numberOf(text) });
    else tokens.push({ kind: ident === undefined ? "symbol" : "ident", text });
    at += text.length;
  }
  tokens.push({ kind: "end", text: "the end" });
  return tokens;
}

function numberOf(text: string): bigint | number | Uint {
  if (/[uU]$/.test(text) && !text.includes(".")) {
    const value = BigInt(text.slice(0, -1));
    if (value >= 2n ** 64n) throw new CelSyntaxError("invalid uint literal");
    return new Uint(value);
  }
  if (text.startsWith("0x") || /^\d+$/.test(text)) return BigInt(text);
  const value = Number(text);
  if (!Number.isFinite(value)) throw new CelSyntaxError("invalid double literal");
  return value;
}
