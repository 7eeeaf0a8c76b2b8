import { WireType } from "@bufbuild/protobuf/wire";
import { type Field, type Message, message } from "./message.ts";
import { type Codec, type Scalar, text } from "./scalar.ts";

/** A field that is omitted if it has the default of its type. */
export function value<T>(number: number, scalar: Scalar<T>): Field<T> {
  const { zero, wireType } = scalar;
  const isZero = (given: T): boolean =>
    given === zero || (zero instanceof Uint8Array && (given as Uint8Array).length === 0);
  return {
    number,
    type: scalar.type,
    wireTypes: [wireType],
    initial: () => zero,
    write: (writer, given) => {
      if (!isZero(given)) scalar.write(writer.tag(number, wireType), given);
    },
    read: (reader) => scalar.read(reader),
  };
}

/** A field that can be absent. Messages always can. */
export function optional<T>(number: number, codec: Codec<T>): Field<T | undefined> {
  const { wireType } = codec;
  return {
    number,
    type: `optional ${codec.type}`,
    wireTypes: [wireType],
    initial: () => undefined,
    write: (writer, given) => {
      if (given !== undefined) codec.write(writer.tag(number, wireType), given);
    },
    read: (reader) => codec.read(reader),
  };
}

/** A list, which is packed if its elements are numbers. */
export function repeated<T>(number: number, codec: Codec<T>): Field<T[]> {
  const isPacked = codec.wireType !== WireType.LengthDelimited;
  return {
    number,
    type: `repeated ${codec.type}`,
    wireTypes: isPacked ? [codec.wireType, WireType.LengthDelimited] : [codec.wireType],
    initial: () => [],
    write: (writer, given) => {
      if (isPacked) {
        if (given.length === 0) return;
        writer.tag(number, WireType.LengthDelimited).fork();
        for (const one of given) codec.write(writer, one);
        writer.join();
      } else for (const one of given) codec.write(writer.tag(number, codec.wireType), one);
    },
    read: (reader, before, wireType) => {
      const end = isPacked && wireType === WireType.LengthDelimited ? reader.uint32() + reader.pos : reader.pos + 1;
      while (reader.pos < end) before.push(codec.read(reader));
      return before;
    },
  };
}

/** A map with keys of text. An entry without its message is skipped. */
export function map<T>(number: number, codec: Scalar<T> | Message<T>): Field<Map<string, T>> {
  const given: Field<T | undefined> = "zero" in codec ? (value(2, codec) as Field<T | undefined>) : optional(2, codec);
  const entry = message<{ key: string; value: T | undefined }>("Entry", { key: value(1, text), value: given });
  return {
    number,
    type: `map<string, ${codec.type}>`,
    wireTypes: [entry.wireType],
    initial: () => new Map(),
    write: (writer, values) => {
      for (const [key, one] of values) entry.write(writer.tag(number, entry.wireType), { key, value: one });
    },
    read: (reader, before) => {
      const { key, value: one } = entry.read(reader);
      if (one !== undefined) before.set(key, one);
      return before;
    },
  };
}
