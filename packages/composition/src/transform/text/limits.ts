import type { Fail } from "./transform-error.ts";

/**
 * The longest text, in UTF-16 code units, that a transform returns. An API server takes objects of up to 1.5 MiB, so nothing real
 * comes near; twenty transforms with `fmt: "%s%[1]s"`, on the other hand, turn one byte into a megabyte, and forty into a terabyte.
 */
export const MAX_TEXT_LENGTH: number = 2 * 1024 * 1024;

/** The text, unless it is too long. */
export function boundedText(text: string, fail: Fail): string {
  return text.length > MAX_TEXT_LENGTH ? tooLong(fail) : text;
}

/** Fails because of {@link MAX_TEXT_LENGTH}. */
export function tooLong(fail: Fail): never {
  return fail("Limit", `the result is longer than ${MAX_TEXT_LENGTH} characters`);
}
