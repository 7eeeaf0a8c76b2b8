import { Hidden, type Masked } from "./masked.ts";

/**
 * Shorter texts occur by chance: were `admin` a secret wherever it occurs, nobody could read the trace. They are hidden
 * where they are secrets, and nowhere else.
 */
const MIN_LENGTH = 8;

const HIDDEN = "(hidden)";

/**
 * Secrets that were found in some place, to hide them in any other: a function may have copied a password into an
 * address, or into what it has to say.
 */
export class SecretValues {
  /** By their first {@link MIN_LENGTH} characters, the longest first: a search costs what the text is long, however many there are. */
  readonly #byStart: Map<string, string[]> = new Map();

  /** Adds a text that was hidden. */
  add(text: string, base64: boolean): void {
    this.#add(text);
    this.#add(text.trim());
    const bytes = Buffer.from(text, base64 ? "base64" : "utf8");
    if (base64) this.#add(bytes.toString("utf8").trim());
    // Padding depends on what follows the secret where it is part of a longer text.
    else this.#add(bytes.toString("base64").replace(/=+$/, ""));
  }

  #add(text: string): void {
    if (text.length < MIN_LENGTH) return;
    const start = text.slice(0, MIN_LENGTH);
    const known = this.#byStart.get(start);
    if (known === undefined) this.#byStart.set(start, [text]);
    else if (!known.includes(text)) {
      known.push(text);
      known.sort((a, b) => b.length - a.length);
    }
  }

  /** The text with `(hidden)` in place of each secret. */
  scrub(text: string): string {
    if (this.#byStart.size === 0) return text;
    let scrubbed = "";
    let from = 0;
    for (let at = 0; at + MIN_LENGTH <= text.length; ) {
      const found = this.#at(text, at);
      if (found === undefined) at += 1;
      else {
        scrubbed += text.slice(from, at) + HIDDEN;
        at += found.length;
        from = at;
      }
    }
    return from === 0 ? text : scrubbed + text.slice(from);
  }

  /** The value with each text hidden that holds a secret. */
  mask(value: Masked): Masked {
    if (this.#byStart.size === 0) return value;
    if (typeof value === "string") return this.#isIn(value) ? new Hidden(value) : value;
    if (Array.isArray(value)) return value.map((item) => this.mask(item));
    if (value instanceof Map) return new Map([...value].map(([key, field]) => [key, this.mask(field)]));
    return value;
  }

  #isIn(text: string): boolean {
    for (let at = 0; at + MIN_LENGTH <= text.length; at++) if (this.#at(text, at) !== undefined) return true;
    return false;
  }

  #at(text: string, at: number): string | undefined {
    return this.#byStart.get(text.slice(at, at + MIN_LENGTH))?.find((secret) => text.startsWith(secret, at));
  }
}
