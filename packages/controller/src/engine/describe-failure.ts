import { messageOf } from "@xfn/errors";
import { shortened } from "../objects/shortened.ts";

// API servers quote refused objects, which may be long.
const MAX_MESSAGE = 1_000;

/** The fields of a log line about a failure: its code and its shortened message. */
export function describeFailure(error: unknown): { code?: string; error: string } {
  const message = messageOf(error);
  const text = shortened(message, MAX_MESSAGE);
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
  return code === undefined ? { error: text } : { code, error: text };
}
