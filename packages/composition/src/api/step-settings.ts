import { parseDuration } from "@xfn/units";
import type { Fields } from "../api-schema/object.ts";
import { choice, custom, type Schema, within } from "../api-schema/schema.ts";
import { compileGuard } from "../schema/cel/guard.ts";
import { MAX_TIMEOUT_MS, type StepSettings } from "./composition.ts";
import { duration } from "./duration.ts";
import type { WrittenSettings } from "./written.ts";

/** With the pauses between them, ten retries take half a minute. A longer outage of the function needs a new run. */
const MAX_RETRIES = 10;

/** Longer than any guard that a person can read. */
const MAX_WHEN_LENGTH = 4096;

const WHEN: Schema<string> = custom(
  { type: "string", minLength: 1, maxLength: MAX_WHEN_LENGTH },
  (value, owner, field) => {
    const when = owner.string(field, value);
    const problem = when === undefined ? undefined : problemOf(when);
    if (problem !== undefined) owner.error("Invalid", field, problem);
  },
);

function problemOf(when: string): string | undefined {
  if (when.trim() === "") return "is empty; leave it out for a step that always runs";
  if (when.length > MAX_WHEN_LENGTH) return `is longer than ${MAX_WHEN_LENGTH} characters`;
  const guard = compileGuard(when);
  return "problem" in guard ? guard.problem : undefined;
}

/** The settings that steps of all types share. */
export const SETTINGS: Fields<WrittenSettings> = {
  timeout: duration(
    "leave it out for that of the function alone",
    MAX_TIMEOUT_MS,
    "is longer than the 596h that a timeout can be",
  ),
  retries: within<number | bigint>(0, MAX_RETRIES, { format: "int32" }),
  when: WHEN,
  schema: choice("Strict"),
};

/** The settings of a step that has been checked. Null counts as absent. */
export function settingsOf({ timeout, retries, when, schema }: WrittenSettings): StepSettings {
  return {
    ...(timeout && { timeoutMs: parseDuration(timeout) }),
    ...(retries && { retries: Number(retries) }),
    ...(when && { when }),
    ...(schema && { schema }),
  };
}
