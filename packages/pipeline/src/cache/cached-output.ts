import { createHash } from "node:crypto";
import type { ContainerStep } from "@xfn/composition";
import type { ResponseCache } from "./response-cache.ts";

/** The output of a FunctionIO step with `cache`. */
export interface CachedOutput {
  /** Returns the output of an earlier run with the same input. Without one, runs the function. */
  get(run: () => Promise<Uint8Array>): Promise<Uint8Array>;
  /**
   * Stores the output if the function ran. Must be called only for a valid output without a fatal result: the next run
   * must call a function that failed.
   */
  keep(): void;
}

/**
 * The cached output of a step, by its container and the digest of its whole input. Runs with the same input use it
 * until its time to live has passed.
 *
 * @returns undefined if the step does not opt in, or nothing stores outputs
 */
export function cachedOutput(
  { cache, container }: ContainerStep,
  input: Uint8Array,
  responses: ResponseCache | undefined,
): CachedOutput | undefined {
  if (cache === undefined || responses === undefined) return undefined;
  // The time to live is a part of the key, so that a change of it takes effect immediately.
  const store = responses.of(JSON.stringify([container, cache.ttlMs]), container.image);
  const tag = createHash("sha256").update(input).digest("hex");
  let fresh: Uint8Array | undefined;
  return {
    get: async (run) => store.get(tag)?.bytes ?? (fresh = await run()),
    keep() {
      if (fresh !== undefined) store.set(tag, fresh, cache.ttlMs);
    },
  };
}
