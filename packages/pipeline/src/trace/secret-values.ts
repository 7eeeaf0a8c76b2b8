import { Hidden, type Masked } from "./masked.ts";

/**
 * Shorter texts occur by chance: were `admin` a secret wherever it occurs, nobody could read the trace. They are hidden
 * where they are secrets, and nowhere else.
 */
const MIN_LENGTH = 8;

/**
 * Of more secrets that begin alike, the beginning is looked for, and all that follows it is hidden: that hides too much,
 * and keeps a search short.
 */
const MAX_ALIKE = 32;

const HIDDEN = "(hidden)";

/**
 * Secrets that were found in some place, to hide them in any other: a function may have copied a password into an
 * address, or into what it has to say.
 */
export class SecretValues {
  /** By their first {@link MIN_LENGTH} characters, the longest first: a search costs what the text is long, however many there are. */
  readonly #byStart: Map<string, string[] | "any"> = new Map();

  /** Adds a text that was hidden; base64 stands for what it encodes, too. */
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
    else if (known !== "any" && !known.includes(text)) {
      known.push(text);
      known.sort((a, b) => b.length - a.length);
      if (known.length > MAX_ALIKE) this.#byStart.set(start, "any");
    }
  }

  /** The text with `(hidden)` in place of each secret. */
  scrub(text: string): string {
    if (this.#byStart.size === 0) return text;
    let scrubbed = "";
    let from = 0;
    for (let at = 0; at + MIN_LENGTH <= text.length; ) {
      const length = this.#secretAt(text, at);
      if (length === 0) at += 1;
      else {
        scrubbed += text.slice(from, at) + HIDDEN;
        at += length;
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
    for (let at = 0; at + MIN_LENGTH <= text.length; at++) if (this.#secretAt(text, at) > 0) return true;
    return false;
  }

  /** How many characters of a secret begin here; 0 for none. */
  #secretAt(text: string, at: number): number {
    const known = this.#byStart.get(text.slice(at, at + MIN_LENGTH));
    if (known === undefined) return 0;
    if (known === "any") return text.length - at;
    return known.find((secret) => text.startsWith(secret, at))?.length ?? 0;
  }
}
