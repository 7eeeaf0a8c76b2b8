import type { LiveObject, ObjectReference } from "@xfn/kubernetes";
import type { Context } from "../../objects/context.ts";
import { hasElapsed } from "../../objects/elapsed.ts";
import { findLive } from "../../objects/read-objects.ts";
import { objectKey } from "../../objects/references.ts";
import type { CompositeMemory } from "./composite-memory.ts";

/**
 * Many XRs often run the same functions in succession. A change of a Secret that is not watched is noticed after this
 * time.
 */
const FRESH_MS = 10_000;

/** Pull secrets and service accounts as read in the last seconds, including missing ones. */
export class PullSecretCache {
  readonly #entries: Map<string, { object: LiveObject | undefined; at: number }> = new Map();

  async read(
    context: Pick<Context, "client" | "now"> & { readonly memory: CompositeMemory },
    reference: ObjectReference,
    signal: AbortSignal,
  ): Promise<LiveObject | undefined> {
    const { inputs } = context.memory;
    inputs.note(reference);
    const known = inputs.known(reference);
    if (known !== undefined) return known.object;
    const key = objectKey(reference);
    const now = context.now();
    for (const [other, { at }] of this.#entries) if (hasElapsed(at, now, FRESH_MS)) this.#entries.delete(other);
    const entry = this.#entries.get(key);
    if (entry !== undefined) return entry.object;
    const object = await findLive(context, reference, signal);
    this.#entries.set(key, { object, at: now });
    return object;
  }
}
