import { currentTrace, inTrace } from "@xfn/runner-contract/trace-context";
import type { SpanStart, Tracing } from "./tracing.ts";

/**
 * Runs work in a span, below the span of its caller. A failed span has the error's code only: a message can contain a
 * secret.
 *
 * @param tracing undefined: the work runs without a span
 * @param parent default: the caller's span
 */
export async function traced<T>(
  tracing: Tracing | undefined,
  name: string,
  { parent = currentTrace(), ...options }: Partial<SpanStart>,
  work: () => T | Promise<T>,
): Promise<T> {
  if (tracing === undefined) return await work();
  const span = tracing.start(name, { parent, ...options });
  try {
    const result = await inTrace(span.trace, work);
    span.end();
    return result;
  } catch (error) {
    span.end(errorCode(error));
    throw error;
  }
}

/** A span that has ended. `failure` marks it as failed. */
export interface EndedSpan extends Pick<SpanStart, "attributes" | "kind"> {
  readonly milliseconds: number;
  readonly failure: string | undefined;
}

/** Records a span that ends now, below the caller's. Without one, records nothing. */
export function recordWithin(tracing: Tracing, name: string, { milliseconds, failure, ...options }: EndedSpan): void {
  const parent = currentTrace();
  if (parent.traceparent === undefined) return;
  const end = Date.now();
  tracing.start(name, { ...options, parent, at: end - milliseconds }).end(failure, end);
}

function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return "Error";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
