import type { Client, LiveObject, ObjectReference } from "@xfn/kubernetes";
import { hasElapsed } from "../../objects/elapsed.ts";
import { findLive } from "../../objects/read-objects.ts";
import { objectKey } from "../../objects/references.ts";
import type { NamedInputs } from "./named-inputs.ts";

/**
 * Many XRs often run the same functions in succession. A change of a Secret that is not watched is noticed after this
 * time.
 */
const FRESH_MS = 10_000;

/** Pull secrets and service accounts as read in the last seconds, including missing ones. */
export class PullSecretCache {
  readonly #reader: { readonly client: Client; readonly now: () => number };
  readonly #entries: Map<string, { object: LiveObject | undefined; at: number }> = new Map();

  constructor(reader: { readonly client: Client; readonly now: () => number }) {
    this.#reader = reader;
  }

  /** @param inputs of the object whose run needs the Secret */
  async read(
    inputs: Pick<NamedInputs, "known" | "note">,
    reference: ObjectReference,
    signal: AbortSignal,
  ): Promise<LiveObject | undefined> {
    inputs.note(reference);
    const known = inputs.known(reference);
    if (known !== undefined) return known.object;
    const key = objectKey(reference);
    const now = this.#reader.now();
    for (const [other, { at }] of this.#entries) if (hasElapsed(at, now, FRESH_MS)) this.#entries.delete(other);
    const entry = this.#entries.get(key);
    if (entry !== undefined) return entry.object;
    const object = await findLive(this.#reader, reference, signal);
    this.#entries.set(key, { object, at: now });
    return object;
  }
}
