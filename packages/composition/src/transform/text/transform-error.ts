import { CodedError } from "@xfn/errors";
/**
 * Why a transform failed:
 *
 * - `Config`: the transform itself is wrong (an unknown type, a missing field, a regexp that does not compile)
 * - `Input`: the transform does not accept the value (a number for a map, a key that the map does not have)
 * - `Limit`: the result would be too large
 */
export type TransformErrorCode = "Config" | "Input" | "Limit";

/** A transform or a combine failed. The message contains no value, which may be a secret. */
export class TransformError extends CodedError<TransformErrorCode> {
  override readonly name = "TransformError";
  /** The transform's position in its patch; absent for a combine. */
  readonly index: number | undefined;
  /** The key that a map lacks. It is the value of a field, and may be a secret. */
  readonly key: string | undefined;

  constructor(
    code: TransformErrorCode,
    index: number | undefined,
    what: string,
    reason: string,
    options: ErrorOptions & { readonly key?: string } = {},
  ) {
    super(code, index === undefined ? `${what}: ${reason}` : `transforms[${index}] (${what}): ${reason}`, options);
    this.index = index;
    this.key = options.key;
  }
}

/** Throws the error of one transform. Compiled transforms get it, so that they need not know their index. */
export type Fail = (code: TransformErrorCode, reason: string, key?: string) => never;

/** The {@link Fail} of a transform at `index`, or of a combine. */
export function failureOf(index: number | undefined, what: string): Fail {
  return (code, reason, key) => {
    throw new TransformError(code, index, what, reason, key === undefined ? {} : { key });
  };
}
