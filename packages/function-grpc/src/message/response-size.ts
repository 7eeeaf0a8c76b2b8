import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { MAX_DEPTH } from "@xfn/json";
import { StructError } from "../errors/struct-error.ts";
import { ENTRY, LIST, VALUE } from "../struct/tags.ts";

/** Limits on the decoded size of a response. */
export interface ResponseLimits {
  /** The total number of fields and items in all messages and Structs. */
  readonly maxValues: number;
  /** The largest number of results, of conditions, of desired resources and of requirements. */
  readonly maxEntries: number;
  /** The largest number of fields and items of each desired object. Default: {@link maxValues}. */
  readonly maxObjectValues?: number;
}

interface Shape {
  /** The messages in its fields, by tag. */
  readonly fields: Map<number, Shape>;
  /** Fields that do not count: in a Struct, an entry with its key and value counts as one value. */
  readonly free: number;
  /** The list or map whose length these messages count towards. */
  readonly entryOf?: string;
}

function shape(fields: Readonly<Record<number, Shape>> = {}, { free = 0, entryOf = "" } = {}): Shape {
  const byTag = new Map(Object.entries(fields).map(([tag, inside]) => [Number(tag), inside]));
  return { fields: byTag, free, ...(entryOf !== "" && { entryOf }) };
}

const ANY_VALUE = shape({}, { free: 1 });
const STRUCT = shape({ [ENTRY.field]: shape({ [ENTRY.value]: ANY_VALUE }, { free: 2 }) });
ANY_VALUE.fields.set(VALUE.struct, STRUCT).set(VALUE.list, shape({ [LIST.values]: ANY_VALUE }));

// Tags of the fields that are messages: proto/apiextensions/fn/proto/v1/run_function.proto.
const RESOURCE = shape({ 0x0a: STRUCT, 0x12: shape() });
const SELECTOR = shape({ 0x22: shape({ 0x0a: shape() }) });
const SELECTOR_ENTRY = shape({ [ENTRY.value]: SELECTOR }, { entryOf: "requirements" });
const RESOURCE_ENTRY = shape({ [ENTRY.value]: RESOURCE }, { entryOf: "desired.resources" });
const SCHEMA_ENTRY = shape({ [ENTRY.value]: shape() }, { entryOf: "requirements" });
const RESPONSE = shape({
  0x0a: shape({ 0x12: shape() }),
  0x12: shape({ 0x0a: RESOURCE, 0x12: RESOURCE_ENTRY }),
  0x1a: shape({}, { entryOf: "results" }),
  0x22: STRUCT,
  0x2a: shape({ 0x0a: SELECTOR_ENTRY, 0x12: SELECTOR_ENTRY, 0x1a: SCHEMA_ENTRY }),
  0x32: shape({}, { entryOf: "conditions" }),
});

// https://protobuf.dev/programming-guides/encoding/#structure
const VARINT = 0;
const FIXED_64 = 1;
const BYTES = 2;
const START_GROUP = 3;
const END_GROUP = 4;
const FIXED_32 = 5;

/** A level of a Struct has at most three messages: itself, an entry and its value. */
const MAX_MESSAGE_DEPTH = 4 * MAX_DEPTH;

/** A tag and a length of zero. */
const MIN_FIELD_BYTES = 2;

/**
 * Counts the values in a RunFunctionResponse before anything is allocated for it: two bytes can encode a message that
 * takes a hundred in memory.
 *
 * @throws {StructError} `TooManyValues`
 * @throws Error if the bytes are not a message
 */
export function checkResponseSize(bytes: Uint8Array, limits: ResponseLimits): void {
  new SizeCheck(bytes, limits).message(RESPONSE, bytes.length, 0);
}

class SizeCheck {
  readonly #reader: BinaryReader;
  readonly #limits: ResponseLimits;
  readonly #opensStructs: boolean;
  readonly #entries = new Map<string, number>();
  #valuesLeft: number;

  constructor(bytes: Uint8Array, limits: ResponseLimits) {
    this.#reader = new BinaryReader(bytes);
    this.#limits = limits;
    // Most responses are too short to exceed the bound.
    this.#opensStructs = bytes.length > MIN_FIELD_BYTES * limits.maxValues;
    this.#valuesLeft = limits.maxValues;
  }

  /** Reads messages at least as far as the decoder: a message must not look smaller here. */
  message({ fields, free }: Shape, end: number, depth: number): void {
    const reader = this.#reader;
    let count = 0;
    while (reader.pos < end) {
      const tag = reader.uint32();
      if (++count > free) this.#value();
      const inside = fields.get(tag);
      if (inside !== undefined) this.#inside(inside, depth + 1);
      else if (tag === 0 || (tag & 7) === END_GROUP) return;
      else this.#skip(tag & 7);
    }
  }

  #inside(inside: Shape, depth: number): void {
    const reader = this.#reader;
    const size = reader.uint32();
    const end = reader.pos + size;
    if (inside.entryOf !== undefined) this.#entry(inside.entryOf);
    const isOpened = depth < MAX_MESSAGE_DEPTH && (inside !== STRUCT || this.#opensStructs);
    if (isOpened) this.message(inside, end, depth);
    // The decoder reads a Struct as bytes first.
    if (inside === STRUCT || !isOpened) reader.pos = end;
  }

  #value(): void {
    if (--this.#valuesLeft >= 0) return;
    const { maxValues } = this.#limits;
    throw new StructError(
      "TooManyValues",
      `it has more than ${maxValues} fields and items; the function must return fewer`,
    );
  }

  #entry(list: string): void {
    const count = (this.#entries.get(list) ?? 0) + 1;
    this.#entries.set(list, count);
    const { maxEntries } = this.#limits;
    if (count <= maxEntries) return;
    throw new StructError(
      "TooManyValues",
      `it has more than ${maxEntries} entries in ${list}; the function must return fewer`,
    );
  }

  /** Like `BinaryReader.skip`, which allocates for each field. */
  #skip(wireType: number): void {
    const reader = this.#reader;
    switch (wireType) {
      case VARINT:
        reader.uint32();
        break;
      case FIXED_64:
        reader.pos += 8;
        break;
      case BYTES: {
        const size = reader.uint32();
        reader.pos += size;
        break;
      }
      case FIXED_32:
        reader.pos += 4;
        break;
      case START_GROUP:
        reader.skip(WireType.StartGroup);
        break;
      default:
        throw new StructError("Malformed", `a field has the unknown wire type ${wireType}`);
    }
  }
}
