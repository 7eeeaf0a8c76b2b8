import { type JsonObject, type JsonValue, MAX_DEPTH, newObject } from "@xfn/json";
import { parseTrustedJson } from "@xfn/json/document";
import { printJson } from "@xfn/json/text";

/** Values of one piece: parsing them takes some milliseconds. */
const MAX_VALUES = 20_000;
/** Characters of a string that count as one value. */
const CHARACTERS_PER_VALUE = 64;
/** A piece wraps its values in a list or an object, which adds one level. */
const LIMITS = { maxDepth: MAX_DEPTH + 1 };

/**
 * A part of a large value. A list or object with more values than a piece can have is opened by one piece, and others
 * fill it.
 */
export type Piece =
  | {
      /** The list or object that gets the piece, by the order in which they were opened. The first one is a list. */
      readonly into: number;
      /** JSON of a list or an object, whose items or fields the list or object gets. */
      readonly text: string;
    }
  | {
      readonly into: number;
      /** The field of an object that is opened. Undefined in a list. */
      readonly key: string | undefined;
      readonly open: "list" | "object";
    };

type Container = JsonValue[] | JsonObject;

/** Cuts a value into pieces. Each takes {@link Assembly} a few milliseconds, except for a long string. */
export function cut(value: JsonValue): Piece[] {
  const large = new Set<Container>();
  measure(value, large);
  const cutter = new Cutter(large);
  cutter.put([value], 0);
  return cutter.pieces;
}

/** The number of values in a value. Adds the lists and objects that exceed a piece to `large`. */
function measure(value: JsonValue, large?: Set<Container>): number {
  if (typeof value === "string") return 1 + Math.floor(value.length / CHARACTERS_PER_VALUE);
  if (typeof value !== "object" || value === null) return 1;
  let size = 1;
  if (Array.isArray(value)) for (const item of value) size += measure(item, large);
  else for (const key in value) size += measure(key) + measure(value[key] as JsonValue, large);
  if (size > MAX_VALUES) large?.add(value);
  return size;
}

class Cutter {
  readonly pieces: Piece[] = [];
  readonly #large: ReadonlySet<Container>;
  #opened = 1;

  constructor(large: ReadonlySet<Container>) {
    this.#large = large;
  }

  /** Makes the pieces of a list or object that has been opened. */
  put(container: Container, into: number): void {
    if (Array.isArray(container)) this.#putList(container, into);
    else this.#putObject(container, into);
  }

  #putList(list: readonly JsonValue[], into: number): void {
    let batch: JsonValue[] = [];
    let size = 0;
    for (const value of list) {
      const open = this.#isLarge(value);
      const add = open ? MAX_VALUES : measure(value);
      if (batch.length > 0 && size + add > MAX_VALUES) {
        this.pieces.push({ into, text: printJson(batch) });
        batch = [];
        size = 0;
      }
      if (open) this.#open(value, into, undefined);
      else {
        batch.push(value);
        size += add;
      }
    }
    if (batch.length > 0) this.pieces.push({ into, text: printJson(batch) });
  }

  #putObject(object: JsonObject, into: number): void {
    let batch = newObject();
    let size = 0;
    for (const key in object) {
      const value = object[key] as JsonValue;
      const open = this.#isLarge(value);
      const add = open ? MAX_VALUES : measure(key) + measure(value);
      if (size > 0 && size + add > MAX_VALUES) {
        this.pieces.push({ into, text: printJson(batch) });
        batch = newObject();
        size = 0;
      }
      if (open) this.#open(value, into, key);
      else {
        batch[key] = value;
        size += add;
      }
    }
    if (size > 0) this.pieces.push({ into, text: printJson(batch) });
  }

  #isLarge(value: JsonValue): value is Container {
    return typeof value === "object" && value !== null && this.#large.has(value);
  }

  #open(container: Container, into: number, key: string | undefined): void {
    this.pieces.push({ into, key, open: Array.isArray(container) ? "list" : "object" });
    this.put(container, this.#opened++);
  }
}

/** Puts a value together again, piece by piece. */
export class Assembly {
  readonly #root: JsonValue[] = [];
  readonly #opened: Container[] = [this.#root];

  /** Adds the next piece. */
  add(piece: Piece): void {
    const target = this.#opened[piece.into];
    if (target === undefined) throw new TypeError("a piece precedes its list or object");
    if ("open" in piece) {
      const container = piece.open === "list" ? [] : newObject();
      if (Array.isArray(target)) target.push(container);
      else target[piece.key ?? ""] = container;
      this.#opened.push(container);
      return;
    }
    const part = parseTrustedJson(piece.text, { limits: LIMITS });
    // A spread would exceed the stack with a long list.
    if (Array.isArray(target)) for (const item of part as JsonValue[]) target.push(item);
    else Object.assign(target, part);
  }

  /** The value, after all pieces. */
  value(): JsonValue {
    return this.#root[0] as JsonValue;
  }
}
