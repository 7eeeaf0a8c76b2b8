import type { Type } from "./type.ts";

/** An unsigned integer of 64 bits. */
export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

/** A duration in nanoseconds. */
export class Duration {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** An instant in nanoseconds since 1970. */
export class Timestamp {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** A type as a value, the result of `type(x)`. */
export class TypeValue {
  readonly type: Type;

  constructor(type: Type) {
    this.type = type;
  }
}

/** An optional, with or without a value. */
export class Optional {
  static readonly NONE: Optional = new Optional(undefined);
  readonly value: Value | undefined;

  constructor(value: Value | undefined) {
    this.value = value;
  }
}

/** An error as the result of an operation. `||`, `&&` and loops can absorb it. Its message contains no value. */
export class Failure {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

/** How Kubernetes compares and adds lists: in order, as a set, or by the keys of their items. */
export type ListKind = "atomic" | "set" | "map";

export class List {
  readonly items: readonly Value[];
  readonly kind: ListKind;
  /** The names of the key fields of a list of kind `map`. */
  readonly keys: readonly string[];
  /** Whether it is a part of the data, and not made by the expression. */
  readonly isData: boolean;
  /** The lists of which it is the sum. */
  readonly parts: readonly List[];

  constructor(
    items: readonly Value[],
    kind: ListKind = "atomic",
    keys: readonly string[] = [],
    isData = false,
    parts: readonly List[] = [],
  ) {
    this.items = items;
    this.kind = kind;
    this.keys = keys;
    this.isData = isData;
    this.parts = parts;
  }
}

/** A key of a map. Unsigned integers and whole doubles are keys as integers. */
export type Key = string | boolean | bigint;

/** The entries of a map. JavaScript's Map is one. */
export interface Entries {
  readonly size: number;
  has(key: Key): boolean;
  get(key: Key): Value | undefined;
  keys(): Iterable<Key>;
}

export class CelMap {
  readonly entries: Entries;
  /** Whether it is a part of the data, and not made by the expression. */
  readonly isData: boolean;

  constructor(entries: Entries, isData = false) {
    this.entries = entries;
    this.isData = isData;
  }
}

/** An object with declared fields, or of unknown form. */
export class CelObject {
  readonly fields: ReadonlyMap<string, Value>;
  /** The declared names of the fields. Undefined for an object of unknown form, which is used as a map. */
  readonly type: Type | undefined;

  constructor(fields: ReadonlyMap<string, Value>, type: Type | undefined) {
    this.fields = fields;
    this.type = type;
  }
}

/** A value of a type of Kubernetes, such as a quantity. */
export abstract class Extension {
  abstract readonly type: Type;
  /** Whether `==` accepts it as its right operand. */
  readonly isRightOperand: boolean = true;
  abstract equals(other: Extension): boolean;
}

/** A value in an expression. */
export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Uint
  | Duration
  | Timestamp
  | TypeValue
  | Optional
  | Failure
  | List
  | CelMap
  | CelObject
  | Extension;

/** The key of a map for a value. Undefined if the value cannot be one. */
export function keyOf(value: Value): Key | undefined {
  if (typeof value === "string" || typeof value === "boolean" || typeof value === "bigint") return value;
  if (value instanceof Uint) return value.value;
  if (typeof value === "number" && Number.isInteger(value)) return BigInt(value);
  return undefined;
}

const INT_MIN = -(2n ** 63n);
const INT_MAX = 2n ** 63n - 1n;

/** Checks the range of an integer of 64 bits. */
export function int(value: bigint): bigint | Failure {
  return value < INT_MIN || value > INT_MAX ? new Failure("integer overflow") : value;
}

/** Checks the range of an unsigned integer of 64 bits. */
export function uint(value: bigint): Uint | Failure {
  return value < 0n || value >= 2n ** 64n ? new Failure("unsigned integer overflow") : new Uint(value);
}
