import { CodedError } from "@xfn/errors";
/**
 * Why a value and a `google.protobuf.Struct` cannot be converted into each other.
 *
 * - `NotJson` NaN, an infinity, a lone surrogate, or a value without a kind
 * - `TooDeep` nested deeper than the limit
 * - `TooManyValues` more values than the limit
 * - `DuplicateKey` one key twice in a message
 * - `Malformed` bytes that are not a Struct
 */
export type StructErrorCode = "NotJson" | "TooDeep" | "TooManyValues" | "DuplicateKey" | "Malformed";

/** A value or message that cannot be converted. The message names a key at most, never a value. */
export class StructError extends CodedError<StructErrorCode> {
  override readonly name = "StructError";
}
