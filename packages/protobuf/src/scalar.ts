import { type BinaryReader, type BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** The encoding of the values of a type. */
export interface Codec<T> {
  /** The type, as a .proto file names it. */
  readonly type: string;
  readonly wireType: WireType;
  write(writer: BinaryWriter, value: T): void;
  read(reader: BinaryReader): T;
}

/** The encoding of a type whose fields have a default. */
export interface Scalar<T> extends Codec<T> {
  readonly zero: T;
}

export const text: Scalar<string> = {
  type: "string",
  wireType: WireType.LengthDelimited,
  zero: "",
  write: (writer, value) => void writer.string(value),
  read: (reader) => reader.string(),
};

/** Decoded bytes are a view of the message's memory. */
export const bytes: Scalar<Uint8Array> = {
  type: "bytes",
  wireType: WireType.LengthDelimited,
  zero: new Uint8Array(),
  write: (writer, value) => void writer.bytes(value),
  read: (reader) => reader.bytes(),
};

export const int32: Scalar<number> = {
  type: "int32",
  wireType: WireType.Varint,
  zero: 0,
  write: (writer, value) => void writer.int32(value),
  read: (reader) => reader.int32(),
};

/** Throws for a value beyond 64 bits. */
export const int64: Scalar<bigint> = {
  type: "int64",
  wireType: WireType.Varint,
  zero: 0n,
  write: (writer, value) => void writer.int64(value),
  read: (reader) => BigInt(reader.int64()),
};

/** @returns the encoding of an enum, whose unknown values remain numbers */
export function enumeration<E extends number>(name: string): Scalar<E> {
  return { ...int32, type: name } as unknown as Scalar<E>;
}
