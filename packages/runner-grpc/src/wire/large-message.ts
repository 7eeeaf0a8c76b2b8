import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/**
 * Encodes a message with a large bytes field and copies the field once. The generated code would copy it into a
 * growing buffer, and that buffer into the message.
 *
 * @param before the encoded fields that come before it
 * @param field the number of the field
 * @param after the encoded fields that come after it
 */
export function encodeLarge(before: Uint8Array, field: number, bytes: Uint8Array, after: Uint8Array): Buffer {
  // Like the generated code, omit an empty field.
  if (bytes.length === 0) return Buffer.concat([before, after]);
  const head = new BinaryWriter().tag(field, WireType.LengthDelimited).uint32(bytes.length).finish();
  return Buffer.concat([before, head, bytes, after]);
}
