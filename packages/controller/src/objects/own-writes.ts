import type { LiveObject, ObjectReference } from "@xfn/kubernetes";
import { hasElapsed } from "./elapsed.ts";
import { objectKey, referenceTo } from "./references.ts";

/** An informer with a working watch receives a write within this time. After it, the cache wins. */
const LAG_MS = 5_000;

/**
 * A broken watch may show a deleted object for this time. After it, the worst case is a write that the server rejects.
 */
const GONE_MS = 10 * 60_000;

/**
 * The server's answers to the controller's own writes, until the caches show them. Without them, a reconcile that
 * follows at once would read the old state, repeat the write, and get a conflict.
 */
export class OwnWrites {
  readonly #now: () => number;
  readonly #objects: Map<string, { object: LiveObject; at: number }> = new Map();
  /** Times of deletion, by UID. */
  readonly #deleted: Map<string, number> = new Map();
  /** Whether this reconcile used an object that no cache shows yet. */
  #ahead = false;

  /** @param now milliseconds since the epoch */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Starts a reconcile, and drops expired entries. */
  begin(): void {
    this.#ahead = false;
    for (const [key, { at }] of this.#objects) if (this.#isLate(at)) this.#objects.delete(key);
    for (const [uid, at] of this.#deleted) if (hasElapsed(at, this.#now(), GONE_MS)) this.#deleted.delete(uid);
  }

  /** Records the server's answer to a write or a live read. */
  saw(object: LiveObject): void {
    this.#objects.set(objectKey(referenceTo(object)), { object, at: this.#now() });
  }

  sawGone(uid: string): void {
    this.#deleted.set(uid, this.#now());
    for (const [key, { object }] of this.#objects) if (object.metadata.uid === uid) this.#objects.delete(key);
  }

  /** The newer of the cached and the recorded state; undefined if neither exists. */
  newest(reference: ObjectReference, cached: LiveObject | undefined): LiveObject | undefined {
    const known = cached !== undefined && this.#deleted.has(cached.metadata.uid) ? undefined : cached;
    const key = objectKey(reference);
    const own = this.#objects.get(key);
    if (own === undefined) return known;
    if (this.#isLate(own.at) || (known !== undefined && !isNewer(own.object, known))) {
      this.#objects.delete(key);
      return known;
    }
    if (known === undefined) this.#ahead = true;
    return own.object;
  }

  /** Whether there are answers that the caches may not show yet. */
  get isPending(): boolean {
    return this.#objects.size > 0;
  }

  /**
   * The time in milliseconds after which the next reconcile must run. It must if this reconcile used an object that no
   * cache shows, because the object may have been deleted since. Otherwise undefined.
   */
  get requeueAfterMs(): number | undefined {
    return this.#ahead ? LAG_MS : undefined;
  }

  #isLate(at: number): boolean {
    return hasElapsed(at, this.#now(), LAG_MS);
  }
}

/** Resource versions of one server are increasing numbers (Kubernetes API concepts, "Resource versions"). */
export function isNewer(a: LiveObject, b: LiveObject): boolean {
  const [mine, theirs] = [a.metadata.resourceVersion, b.metadata.resourceVersion];
  if (!/^\d{1,20}$/.test(mine) || !/^\d{1,20}$/.test(theirs)) return false;
  return BigInt(mine) > BigInt(theirs);
}
