import type { Expected, VectorCase } from "./vector-file.ts";

/** Runs the cases of one kind of file through our packages. */
export interface Adapter {
  /** Our output for a case, or a promise of it. */
  run(vector: VectorCase): unknown;
  /** The reason to skip a case. Undefined if it runs. */
  skip?(vector: VectorCase): string | undefined;
  /** The recorded outcome of a case, if it is not in `output` or `error`. */
  expected?(vector: VectorCase): Expected;
  /** Normalizes an output for comparison, with the additions of the reference's test server. */
  normalize?(output: unknown, vector: VectorCase): unknown;
  /** Checks an expected error further. Returns the problem, or undefined. */
  checkError?(error: Error, vector: VectorCase): string | undefined;
}

/** Whether an error is a typed error of our packages, with `code` and `retryable`. */
export function isTypedError(thrown: unknown): thrown is Error & { code: string } {
  return (
    thrown instanceof Error &&
    "code" in thrown &&
    typeof thrown.code === "string" &&
    "retryable" in thrown &&
    typeof thrown.retryable === "boolean"
  );
}
