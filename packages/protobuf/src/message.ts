import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { Codec } from "./scalar.ts";

/** A field of a message. */
export interface Field<T> {
  readonly number: number;
  /** The declaration, as in a .proto file. */
  readonly type: string;
  /** The wire types that {@link read} accepts. */
  readonly wireTypes: readonly WireType[];
  /** The value of an absent field. */
  initial(): T;
  write(writer: BinaryWriter, value: T): void;
  /** @param before the value so far, which repeated fields extend */
  read(reader: BinaryReader, before: T, wireType: WireType): T;
}

/** The fields of a message, in the order of their numbers. */
export type Fields<T> = { readonly [K in keyof T]-?: Field<T[K]> };

/** A type of message. */
export interface Message<T> extends Codec<T> {
  readonly fields: Fields<T>;
  encode(message: T): Uint8Array;
  /** Throws for malformed bytes. */
  decode(bytes: Uint8Array): T;
}

/** Declares a type of message. @param name as its .proto file names it */
export function message<T extends object>(name: string, fields: Fields<T>): Message<T> {
  return new TableMessage(name, fields);
}

type NamedField = readonly [name: string, field: Field<unknown>];

class TableMessage<T extends object> implements Message<T> {
  readonly type: string;
  readonly wireType: WireType = WireType.LengthDelimited;
  readonly fields: Fields<T>;
  readonly #named: readonly NamedField[];
  readonly #byNumber: readonly (NamedField | undefined)[];

  constructor(name: string, fields: Fields<T>) {
    this.type = name;
    this.fields = fields;
    this.#named = Object.entries<Field<unknown>>(fields);
    const byNumber: (NamedField | undefined)[] = [];
    for (const named of this.#named) byNumber[named[1].number] = named;
    this.#byNumber = byNumber;
  }

  encode(given: T): Uint8Array {
    const writer = new BinaryWriter();
    this.#writeFields(writer, given);
    return writer.finish();
  }

  decode(encoded: Uint8Array): T {
    const reader = new BinaryReader(encoded);
    return this.#readFields(reader, reader.len);
  }

  write(writer: BinaryWriter, given: T): void {
    writer.fork();
    this.#writeFields(writer, given);
    writer.join();
  }

  read(reader: BinaryReader): T {
    return this.#readFields(reader, reader.uint32() + reader.pos);
  }

  #writeFields(writer: BinaryWriter, given: T): void {
    const values = given as Readonly<Record<string, unknown>>;
    for (const [name, field] of this.#named) field.write(writer, values[name]);
  }

  #readFields(reader: BinaryReader, end: number): T {
    const values: Record<string, unknown> = {};
    for (const [name, field] of this.#named) values[name] = field.initial();
    while (reader.pos < end) {
      const [number, wireType] = reader.tag();
      const [name, field] = this.#byNumber[number] ?? UNKNOWN;
      if (field?.wireTypes.includes(wireType)) values[name] = field.read(reader, values[name], wireType);
      else reader.skip(wireType, number);
    }
    if (reader.pos > end) throw new RangeError("a field is longer than its message");
    return values as T;
  }
}

const UNKNOWN: readonly [name: string, field: undefined] = ["", undefined];
