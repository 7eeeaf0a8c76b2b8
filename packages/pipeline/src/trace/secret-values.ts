import { Hidden, type Masked } from "./masked.ts";
import { secretForms } from "./secret-forms.ts";

/**
 * Shorter texts occur by chance: if `admin` were hidden wherever it occurs, the trace would be unreadable. Shorter
 * secrets are hidden only at their own position.
 */
const MIN_LENGTH = 8;

/** The shortest value of a Secret that is hidden within longer texts. */
const MIN_KNOWN_LENGTH = 4;

/**
 * The number of secrets with a common start that are compared whole. If there are more, the search finds the common
 * start and hides all that follows. That hides too much, and bounds the search.
 */
const MAX_ALIKE = 32;

const HIDDEN = "(hidden)";

/**
 * Secrets found at one position, to hide them at all others: a function can copy a password into an address or a
 * result. Traces, recordings, rollouts, conditions and events mask texts with it.
 */
export class SecretValues {
  /**
   * Secrets by their first {@link MIN_LENGTH} characters, longest first. The time of a search depends on the text, and
   * not on the number of secrets.
   */
  readonly #byStart: Map<string, string[] | "any"> = new Map();
  /** Values of Secrets that are too short for {@link #byStart}. */
  readonly #short: Set<string> = new Set();
  readonly #names: ReadonlySet<string>;
  /** Each step of a run has the same secrets. */
  readonly #seen = { base64: new Set<string>(), utf8: new Set<string>() };

  /** @param names the names of objects. They are public, even if a connection detail has the same value. */
  constructor(names: ReadonlySet<string>) {
    this.#names = names;
  }

  /** Adds a hidden text, in the forms in which functions write it. Base64 also adds its decoded value. */
  add(text: string, base64: boolean): void {
    const seen = this.#seen[base64 ? "base64" : "utf8"];
    if (seen.has(text)) return;
    seen.add(text);
    this.#add(text);
    for (const form of secretForms(Buffer.from(text, base64 ? "base64" : "utf8"))) this.#add(form);
  }

  /** Adds a value of a Secret. Its position leaves no doubt, so a short value is hidden too. */
  addKnown(bytes: Uint8Array): void {
    const value = Buffer.from(bytes);
    const base64 = value.toString("base64");
    this.add(base64, true);
    for (const text of [value.toString("utf8").trim(), base64])
      if (text.length < MIN_LENGTH && text !== "" && !this.#names.has(text)) this.#short.add(text);
  }

  #add(text: string): void {
    if (text.length < MIN_LENGTH || this.#names.has(text)) return;
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
    if (this.#isEmpty) return text;
    if (this.#short.has(text)) return HIDDEN;
    let scrubbed = "";
    let from = 0;
    for (let at = 0; at + MIN_KNOWN_LENGTH <= text.length; ) {
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

  /** Hides each text of a value that contains a secret. */
  mask(value: Masked): Masked {
    if (this.#isEmpty) return value;
    if (typeof value === "string") return this.isIn(value) ? new Hidden(value) : value;
    if (Array.isArray(value)) return value.map((item) => this.mask(item));
    if (value instanceof Map) return new Map([...value].map(([key, field]) => [key, this.mask(field)]));
    return value;
  }

  /** Whether a text contains a secret. */
  isIn(text: string): boolean {
    if (this.#short.has(text)) return true;
    for (let at = 0; at + MIN_KNOWN_LENGTH <= text.length; at++) if (this.#secretAt(text, at) > 0) return true;
    return false;
  }

  /** The length of the secret that starts here; 0 if there is none. */
  #secretAt(text: string, at: number): number {
    const known = this.#byStart.get(text.slice(at, at + MIN_LENGTH));
    if (known === "any") return text.length - at;
    return known?.find((secret) => text.startsWith(secret, at))?.length ?? this.#shortAt(text, at);
  }

  #shortAt(text: string, at: number): number {
    if (this.#short.size === 0) return 0;
    for (let length = MIN_LENGTH - 1; length >= MIN_KNOWN_LENGTH; length--)
      if (this.#short.has(text.slice(at, at + length))) return Math.min(length, text.length - at);
    return 0;
  }

  get #isEmpty(): boolean {
    return this.#byStart.size + this.#short.size === 0;
  }
}
