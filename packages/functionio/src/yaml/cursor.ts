import type { DocumentErrorCode } from "../errors.ts";

/** Character codes with a meaning in YAML. */
export const Char = {
  Tab: 0x09,
  Newline: 0x0a,
  Space: 0x20,
  Exclamation: 0x21,
  DoubleQuote: 0x22,
  Hash: 0x23,
  Percent: 0x25,
  Ampersand: 0x26,
  SingleQuote: 0x27,
  Asterisk: 0x2a,
  Plus: 0x2b,
  Comma: 0x2c,
  Minus: 0x2d,
  Dot: 0x2e,
  Zero: 0x30,
  Nine: 0x39,
  Colon: 0x3a,
  Less: 0x3c,
  Greater: 0x3e,
  Question: 0x3f,
  At: 0x40,
  OpenBracket: 0x5b,
  Backslash: 0x5c,
  CloseBracket: 0x5d,
  Backtick: 0x60,
  OpenBrace: 0x7b,
  Pipe: 0x7c,
  CloseBrace: 0x7d,
} as const;

/** What stops the reading of a text. */
export class YamlFailure extends Error {
  readonly code: DocumentErrorCode;
  readonly offset: number;

  constructor(code: DocumentErrorCode, message: string, offset: number) {
    super(message);
    this.code = code;
    this.offset = offset;
  }
}

/** A space, a tab, a line's end or the text's end: what must follow an indicator such as `-` or `:`. */
export function isBlank(c: number): boolean {
  return c === Char.Space || c === Char.Newline || c === Char.Tab || Number.isNaN(c);
}

/** `,` `[` `]` `{` `}` */
export function isFlowIndicator(c: number): boolean {
  return (
    c === Char.Comma || c === Char.OpenBracket || c === Char.CloseBracket || c === Char.OpenBrace || c === Char.CloseBrace
  );
}

/** A place in a YAML text whose lines end in `\n`. It goes forward only. */
export class Cursor {
  readonly text: string;
  pos = 0;
  /** Offset of the first character of the current line. */
  lineStart = 0;
  /** Whether a tab is in the white space right before `pos`: it has no width that all readers agree on. */
  tab = false;
  /** Where {@link skipBlank} came to the first content of a line. */
  #fresh = -1;

  constructor(text: string) {
    this.text = text;
  }

  /** The character code at the cursor, NaN at the end. */
  peek(ahead = 0): number {
    return this.text.charCodeAt(this.pos + ahead);
  }

  /** Whether the cursor stands on an indicator followed by a blank, as in `- item`. */
  atIndicator(c: number): boolean {
    return this.peek() === c && isBlank(this.peek(1));
  }

  /** Skips spaces and tabs on this line. */
  skipSpace(): void {
    for (let c = this.peek(); c === Char.Space || c === Char.Tab; c = this.peek()) this.pos++;
  }

  /** Goes over a line's end; the cursor stands on it. */
  newline(): void {
    this.pos++;
    this.lineStart = this.pos;
  }

  /** Skips white space, comments and empty lines. Returns whether the cursor is then on the first content of a line. */
  skipBlank(): boolean {
    const { text } = this;
    let crossed = this.pos === this.lineStart || this.pos === this.#fresh;
    // The tab before content that was already reached stays noted.
    if (this.pos !== this.#fresh) this.tab = false;
    for (;;) {
      const c = text.charCodeAt(this.pos);
      if (c === Char.Space) this.pos++;
      else if (c === Char.Tab) {
        this.tab = true;
        this.pos++;
      } else if (c === Char.Newline) {
        this.newline();
        crossed = true;
        this.tab = false;
      } else if (c === Char.Hash && (this.pos === 0 || isBlank(text.charCodeAt(this.pos - 1)))) {
        const end = text.indexOf("\n", this.pos);
        this.pos = end === -1 ? text.length : end;
      } else break;
    }
    if (crossed) this.#fresh = this.pos;
    return crossed;
  }

  /** Whether the cursor stands on `---` or `...` at the start of a line. */
  atMarker(): boolean {
    if (this.pos !== this.lineStart) return false;
    const c = this.peek();
    if (c !== Char.Minus && c !== Char.Dot) return false;
    return this.peek(1) === c && this.peek(2) === c && isBlank(this.peek(3));
  }

  /** The column, from 0; -1 at the end of the document, which is less than any indentation. */
  column(): number {
    return this.pos >= this.text.length || this.atMarker() ? -1 : this.pos - this.lineStart;
  }

  /** Stops the reading. */
  fail(message: string, offset: number = this.pos, code: DocumentErrorCode = "Syntax"): never {
    throw new YamlFailure(code, message, offset);
  }

  /** What stands at the cursor, for messages. */
  found(): string {
    if (this.pos >= this.text.length) return "the end of the text";
    if (this.peek() === Char.Newline) return "the end of the line";
    return JSON.stringify(/^\S{1,20}/.exec(this.text.slice(this.pos, this.pos + 20))?.[0] ?? this.text[this.pos]);
  }
}
