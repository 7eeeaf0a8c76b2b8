import type { Fail } from "./transform-error.ts";

/**
 * The longest result of a transform, in UTF-16 code units. An API server accepts objects of up to 1.5 MiB, so real
 * texts are shorter. Twenty transforms with `fmt: "%s%[1]s"` turn one byte into a megabyte, and forty into a terabyte.
 */
export const MAX_TEXT_LENGTH: number = 2 * 1024 * 1024;

/** Returns the text, or fails if it is too long. */
export function boundedText(text: string, fail: Fail): string {
  return text.length > MAX_TEXT_LENGTH ? tooLong(fail) : text;
}

/** Fails because of {@link MAX_TEXT_LENGTH}. */
export function tooLong(fail: Fail): never {
  return fail("Limit", `the result is longer than ${MAX_TEXT_LENGTH} characters`);
}
