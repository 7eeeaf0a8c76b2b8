import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** An encoded message in pieces, so that a large field is not copied into it. */
export type MessagePieces = readonly Uint8Array[];

/**
 * Encodes a message around a large bytes field, which is not copied. Its own encoding would copy it into a growing
 * buffer, and that buffer into the message.
 *
 * @param before the encoded fields that come before it
 * @param field the number of the field
 * @param after the encoded fields that come after it
 */
export function encodeLarge(before: Uint8Array, field: number, bytes: Uint8Array, after: Uint8Array): MessagePieces {
  // As in any message, omit an empty field.
  if (bytes.length === 0) return [before, after];
  const head = new BinaryWriter().tag(field, WireType.LengthDelimited).uint32(bytes.length).finish();
  return [before, head, bytes, after];
}

/** The length of a message, in bytes. */
export function lengthOf(pieces: MessagePieces): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}
