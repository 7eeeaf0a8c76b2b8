import { createHash } from "node:crypto";
import type { ContainerStep } from "@xfn/composition";
import type { ResponseStore } from "@xfn/function-grpc";
import type { ResponseCache } from "./response-cache.ts";

/**
 * The output of a FunctionIO step with `cache`. Runs with the same input use it again until its time to live has
 * passed.
 */
export class CachedOutput {
  readonly #store: ResponseStore;
  readonly #tag: string;
  readonly #ttlMs: number;
  #fresh: Uint8Array | undefined;

  constructor(store: ResponseStore, tag: string, ttlMs: number) {
    this.#store = store;
    this.#tag = tag;
    this.#ttlMs = ttlMs;
  }

  /** Returns the output of an earlier run with the same input. Without one, runs the function. */
  async get(run: () => Promise<Uint8Array>): Promise<Uint8Array> {
    const known = this.#store.get(this.#tag);
    if (known !== undefined) return known.bytes;
    this.#fresh = await run();
    return this.#fresh;
  }

  /**
   * Stores the output if the function ran. Must be called only for a valid output without a fatal result: the next run
   * must call a function that failed.
   */
  keep(): void {
    if (this.#fresh !== undefined) this.#store.set(this.#tag, this.#fresh, this.#ttlMs);
  }
}

/**
 * The cached output of a step, by its container and the digest of its whole input.
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
  const store = responses.of(JSON.stringify([container, cache.ttlMs]));
  return new CachedOutput(store, createHash("sha256").update(input).digest("hex"), cache.ttlMs);
}
