import { Failure } from "../values/value.ts";

/** The longest result of a function. A list of many references to one long text can be joined to a huge one. */
const MAX_RESULT_LENGTH = 10_000_000;

/** The failure of a function whose result would be too long. Called before the result is created. */
export function boundedLength(length: number): Failure | undefined {
  if (length <= MAX_RESULT_LENGTH) return undefined;
  return new Failure(`the result would have more than ${MAX_RESULT_LENGTH} characters or items`);
}
