import type { Expected, VectorCase } from "./vector-file.ts";

/** How the cases of one kind of file are run through our packages. */
export interface Adapter {
  /** What our engine makes of a case; may be a promise. */
  run(vector: VectorCase): unknown;
  /** Why a case is not run at all; undefined if it is. */
  skip?(vector: VectorCase): string | undefined;
  /** What the reference made of a case, where it is recorded in another form than `output` or `error`. */
  expected?(vector: VectorCase): Expected;
  /** Brings an output into the form in which it is compared, with what only the reference's test server adds. */
  normalize?(output: unknown, vector: VectorCase): unknown;
  /** What else must hold of an error that was expected; a complaint, or undefined. */
  checkError?(error: Error, vector: VectorCase): string | undefined;
}

/** An error that one of our packages throws on purpose: it has a code, and says whether a retry would help. */
export function isTypedError(thrown: unknown): thrown is Error & { code: string } {
  return (
    thrown instanceof Error &&
    "code" in thrown &&
    typeof thrown.code === "string" &&
    "retryable" in thrown &&
    typeof thrown.retryable === "boolean"
  );
}
