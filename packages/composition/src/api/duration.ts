import { DurationError, parseDuration, QuantityError } from "@xfn/units";
import { custom, type Rule, type Schema, text } from "../api-schema/schema.ts";
import type { FieldReader } from "../reader/field-reader.ts";
import { kindOf } from "../values/json.ts";
import { MAX_TIMEOUT_MS } from "./composition.ts";

/**
 * A duration above zero.
 *
 * @param advice the alternative for an author who wants no duration
 * @param tooLong the problem of a duration above `maxMs`
 */
export function duration(advice: string, maxMs: number, tooLong: string): Schema<string> {
  const { openApi } = text(64, { pattern: "^\\+?(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$" });
  return custom<string>(openApi, (value, owner, field) => {
    if (typeof value !== "string") {
      return owner.error("Invalid", field, `expected a duration such as 30s, found ${kindOf(value)}`);
    }
    const ms = attempt(owner, field, () => parseDuration(value));
    if (ms === undefined) return;
    if (ms <= 0) owner.error("Invalid", field, `must be more than zero; ${advice}`);
    if (ms > maxMs) owner.error("Invalid", field, tooLong);
  });
}

/** The time that a function may take. */
export const TIMEOUT: Schema<string> = duration(
  "leave it out for the default of 10s",
  MAX_TIMEOUT_MS,
  "is longer than the 596h that a timeout can be",
);

/** The rule of an object with {@link TIMEOUT} as `timeout`. */
export const TIMEOUT_RULE: Rule = [
  "!has(self.timeout) || (duration(self.timeout) > duration('0s') && duration(self.timeout) <= duration('596h'))",
  "timeout must be more than zero, and at most 596h",
];

/** Parses a duration or quantity. Reports the problem of an invalid one. */
export function attempt<T>(owner: FieldReader, field: string, parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof QuantityError) && !(error instanceof DurationError)) throw error;
    owner.error("Invalid", field, error.message);
    return undefined;
  }
}
