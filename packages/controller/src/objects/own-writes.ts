import type { LiveObject, ObjectReference } from "@xfn/kubernetes";
import { objectKey } from "./references.ts";

/** An informer that is up has told of a write by then; one that is not has no say. */
const LAG_MS = 5_000;

/** A cache whose watch has broken may show for some time what is gone. What it shows even then costs a write that is refused. */
const GONE_MS = 10 * 60_000;

/**
 * What the server answered to our own writes, until the caches show it: a reconcile that follows at once would otherwise read
 * what was there before, write the same again, and run into a conflict.
 */
export class OwnWrites {
  readonly #now: () => number;
  readonly #objects: Map<string, { object: LiveObject; at: number }> = new Map();
  /** When, by UID. */
  readonly #deleted: Map<string, number> = new Map();
  /** Whether something was believed to exist that no cache has shown yet. */
  #ahead = false;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A reconcile begins: what is old is forgotten. */
  begin(): void {
    this.#ahead = false;
    for (const [key, { at }] of this.#objects) if (this.#isLate(at)) this.#objects.delete(key);
    for (const [uid, at] of this.#deleted) if (this.#now() - at > GONE_MS) this.#deleted.delete(uid);
  }

  /** Remembers what the server answered, to a write or a live read. */
  saw(object: LiveObject): void {
    this.#objects.set(keyOf(object), { object, at: this.#now() });
  }

  /** Remembers that an object is gone. */
  sawGone(uid: string): void {
    this.#deleted.set(uid, this.#now());
    for (const [key, { object }] of this.#objects) if (object.metadata.uid === uid) this.#objects.delete(key);
  }

  /** The newer of what a cache has and what we know; undefined if neither has it. */
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

  /**
   * After this time, in milliseconds, it has to be looked again: something was believed to exist, since the reconcile began,
   * that no cache has shown yet, and perhaps it is gone already. Undefined if there was no such thing.
   */
  get lookAgainAfterMs(): number | undefined {
    return this.#ahead ? LAG_MS : undefined;
  }

  #isLate(at: number): boolean {
    return this.#now() - at > LAG_MS;
  }
}

function keyOf({ apiVersion, kind, metadata: { name, namespace } }: LiveObject): string {
  return objectKey({ apiVersion, kind, name, namespace });
}

/** Resource versions of one server are numbers that grow (Kubernetes API concepts, "Resource versions"); of others nothing is said. */
function isNewer(a: LiveObject, b: LiveObject): boolean {
  const [mine, theirs] = [a.metadata.resourceVersion, b.metadata.resourceVersion];
  if (!/^\d{1,20}$/.test(mine) || !/^\d{1,20}$/.test(theirs)) return false;
  return BigInt(mine) > BigInt(theirs);
}
