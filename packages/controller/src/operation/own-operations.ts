import type { LiveObject } from "@xfn/kubernetes";
import { OPERATIONS } from "../kinds/operations.ts";
import { hasElapsed } from "../objects/elapsed.ts";
import { isControlledBy } from "../objects/owner.ts";
import type { Reader } from "../objects/read-objects.ts";

/** A cache shows a new object within milliseconds, or its watch is broken. */
const UNCACHED_MS = 10_000;

/**
 * The Operations that an object has created: those of the cache, and those that it does not show yet. Without the
 * latter, two reconciles in succession could create more than the concurrency policy allows.
 */
export class OwnOperations {
  readonly #access: Pick<Reader, "informers">;
  readonly #now: () => number;
  readonly #uncached: Map<string, { readonly operation: LiveObject; readonly at: number }> = new Map();

  constructor(access: Pick<Reader, "informers">, now: () => number) {
    this.#access = access;
    this.#now = now;
  }

  of(owner: LiveObject): LiveObject[] {
    const cached = (this.#access.informers.peek(OPERATIONS)?.list() ?? []).filter((one) => isControlledBy(one, owner));
    const seen = new Set(cached.map(({ metadata: { uid } }) => uid));
    const now = this.#now();
    for (const [uid, { at }] of this.#uncached)
      if (seen.has(uid) || hasElapsed(at, now, UNCACHED_MS)) this.#uncached.delete(uid);
    const uncached = [...this.#uncached.values()].map(({ operation }) => operation);
    return [...cached, ...uncached.filter((one) => isControlledBy(one, owner))];
  }

  created(operation: LiveObject): void {
    this.#uncached.set(operation.metadata.uid, { operation, at: this.#now() });
  }
}
