// Compiles a Go format to operations for a known number of arguments. Go's `fmt.doPrintf` interprets it at each call.

/** The flags of one directive. */
export interface Flags {
  minus: boolean;
  plus: boolean;
  sharp: boolean;
  space: boolean;
  zero: boolean;
  /** `%#v`: print in Go syntax. `sharp` is false then. */
  sharpV: boolean;
}

/** A width or precision: a number, an argument (`*`), or none. */
export type Size = number | { argument: number } | undefined;

/** One directive that prints an argument. */
export interface Directive {
  readonly verb: string;
  readonly argument: number;
  readonly flags: Flags;
  readonly width: Size;
  readonly precision: Size;
}

/** The operations, in order. */
export type Operation =
  | { readonly text: string }
  | Directive
  /** A `*` whose directive prints no argument. Go still reports a size that is not an integer. */
  | { readonly star: number; readonly complaint: string };

/** The operations, and the first unused argument. With explicit indexes all arguments count as used. */
export interface Plan {
  operations: Operation[];
  extraFrom: number;
}

/** Go's report of a `*` without an integer. */
export const BAD_WIDTH = "%!(BADWIDTH)";
/** Go's report of a precision without an integer. */
export const BAD_PRECISION = "%!(BADPREC)";

/** The index of an argument that does not exist. */
const NO_ARGUMENT = -1;

/** Go's bound for widths and precisions. It prevents gigabytes of padding. */
const MAX_SIZE = 1_000_000;

/** Whether Go accepts a number as a width or precision. */
export function isSize(value: number): boolean {
  return value <= MAX_SIZE && value >= -MAX_SIZE;
}

/** Parses a format for `argumentCount` arguments. Go reports a wrong format in its output, not as an error. */
export function parseFormat(format: string, argumentCount: number): Plan {
  const parser = new FormatParser(format, argumentCount);
  return parser.parse();
}

class FormatParser {
  readonly #format: string;
  readonly #count: number;
  readonly #operations: Operation[] = [];
  #at = 0;
  #argument = 0;
  #isReordered = false;
  #isGoodIndex = true;
  #isAfterIndex = false;

  constructor(format: string, count: number) {
    this.#format = format;
    this.#count = count;
  }

  parse(): Plan {
    for (;;) {
      const percent = this.#format.indexOf("%", this.#at);
      this.#text(percent < 0 ? this.#format.slice(this.#at) : this.#format.slice(this.#at, percent));
      if (percent < 0) break;
      this.#at = percent + 1;
      this.#directive();
    }
    return { operations: this.#operations, extraFrom: this.#isReordered ? this.#count : this.#argument };
  }

  #directive(): void {
    this.#isGoodIndex = true;
    const flags = this.#flags();
    this.#index();
    const width = this.#width();
    const precision = this.#precision();
    if (!this.#isAfterIndex) this.#index();
    const code = this.#format.codePointAt(this.#at);
    if (code === undefined) {
      this.#withoutArgument(width, precision, "%!(NOVERB)");
      return;
    }
    const verb = String.fromCodePoint(code);
    this.#at += verb.length;
    if (verb === "%") this.#withoutArgument(width, precision, "%");
    else if (!this.#isGoodIndex) this.#withoutArgument(width, precision, `%!${verb}(BADINDEX)`);
    else if (this.#argument >= this.#count) this.#withoutArgument(width, precision, `%!${verb}(MISSING)`);
    else {
      if (verb === "v" || verb === "w") {
        flags.sharpV = flags.sharp;
        flags.sharp = false;
        // %+v affects structs only, which do not occur here.
        flags.plus = false;
      }
      this.#operations.push({ verb, argument: this.#argument, flags, width, precision });
      this.#argument++;
    }
  }

  #flags(): Flags {
    const flags: Flags = { minus: false, plus: false, sharp: false, space: false, zero: false, sharpV: false };
    for (; ; this.#at++) {
      switch (this.#format.charAt(this.#at)) {
        case "#":
          flags.sharp = true;
          break;
        case "0":
          flags.zero = true;
          break;
        case "+":
          flags.plus = true;
          break;
        case "-":
          flags.minus = true;
          break;
        case " ":
          flags.space = true;
          break;
        default:
          return flags;
      }
    }
  }

  #width(): Size {
    if (this.#format.charAt(this.#at) === "*") {
      this.#at++;
      this.#isAfterIndex = false;
      return this.#star();
    }
    const width = this.#number();
    if (this.#isAfterIndex && width !== undefined) this.#isGoodIndex = false;
    return width;
  }

  #precision(): Size {
    // Go reads a point at the end of a format as a verb.
    if (this.#format.charAt(this.#at) !== "." || this.#at + 1 >= this.#format.length) return undefined;
    this.#at++;
    if (this.#isAfterIndex) this.#isGoodIndex = false;
    this.#index();
    if (this.#format.charAt(this.#at) === "*") {
      this.#at++;
      this.#isAfterIndex = false;
      return this.#star();
    }
    return this.#number() ?? 0;
  }

  /** A size from an argument. The argument counts as used even if it is not an integer. */
  #star(): Size {
    return { argument: this.#argument < this.#count ? this.#argument++ : NO_ARGUMENT };
  }

  /** Parses an optional decimal number. As in Go, a number that is too large consumes the rest of the format. */
  #number(): number | undefined {
    const { value, end } = numberIn(this.#format, this.#at, this.#format.length);
    this.#at = end;
    return value;
  }

  /** An explicit argument index such as `[2]`. */
  #index(): void {
    this.#isAfterIndex = false;
    if (this.#format.charAt(this.#at) !== "[") return;
    this.#isReordered = true;
    const close = this.#format.indexOf("]", this.#at + 1);
    // The shortest index has three characters: after `%[]` at the end of a format Go reads the verb `]`.
    if (close < 0 || this.#format.length - this.#at < 3) {
      this.#isGoodIndex = false;
      this.#at++;
      return;
    }
    const { value, end } = numberIn(this.#format, this.#at + 1, close);
    this.#at = close + 1;
    const isNumber = value !== undefined && end === close;
    this.#isAfterIndex = isNumber;
    if (isNumber && value >= 1 && value <= this.#count) this.#argument = value - 1;
    else this.#isGoodIndex = false;
  }

  #withoutArgument(width: Size, precision: Size, text: string): void {
    if (typeof width === "object") this.#operations.push({ star: width.argument, complaint: BAD_WIDTH });
    if (typeof precision === "object") this.#operations.push({ star: precision.argument, complaint: BAD_PRECISION });
    this.#text(text);
  }

  #text(text: string): void {
    if (text === "") return;
    const last = this.#operations.at(-1);
    if (last !== undefined && "text" in last)
      this.#operations[this.#operations.length - 1] = { text: last.text + text };
    else this.#operations.push({ text });
  }
}

function numberIn(text: string, from: number, to: number): { value: number | undefined; end: number } {
  let value: number | undefined;
  let at = from;
  for (; at < to; at++) {
    const digit = text.charCodeAt(at) - 48;
    if (!(digit >= 0 && digit <= 9)) break;
    if (value !== undefined && !isSize(value)) return { value: undefined, end: to };
    value = (value ?? 0) * 10 + digit;
  }
  return { value, end: at };
}
