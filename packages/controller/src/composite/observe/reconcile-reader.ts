import type { LiveObject, ObjectReference, ResourceKind } from "@xfn/kubernetes";
import type { Actor } from "../../account/actor.ts";
import type { OwnWrites } from "../../objects/own-writes.ts";
import { findLive } from "../../objects/read-objects.ts";

/** The reads of one reconcile. */
export interface Reads {
  /** The server's answers to the reconcile's own writes and live reads. */
  readonly writes: OwnWrites;
  /** The kinds of composed resources for which the caches have no space. */
  readonly uncached: Set<string>;
  /** Why the API server refuses to watch kinds of composed resources. */
  readonly unwatched: Map<string, string>;
  readonly signal: AbortSignal;
}

/** Reads objects for one reconcile with the rights of one actor. */
export class ReconcileReader {
  readonly #actor: Actor;
  readonly #reads: Reads;

  constructor(actor: Actor, reads: Reads) {
    this.#actor = actor;
    this.#reads = reads;
  }

  /** @throws {ApiError} `KindNotServed` */
  async kindOf(apiVersion: string, kind: string): Promise<ResourceKind> {
    return await this.#actor.client.kind(apiVersion, kind, { signal: this.#reads.signal });
  }

  async listOf(kind: ResourceKind, labelSelector?: string): Promise<readonly LiveObject[]> {
    return (await this.#actor.client.list(kind, { labelSelector, signal: this.#reads.signal })).items;
  }

  /** Reads an object from the API server, and does not retain it; undefined if it does not exist. */
  async readOnce(reference: ObjectReference): Promise<LiveObject | undefined> {
    return await findLive(this.#actor, reference, this.#reads.signal);
  }

  /** Reads an object from the API server; undefined if it does not exist. */
  async readLive(reference: ObjectReference): Promise<LiveObject | undefined> {
    const object = await this.readOnce(reference);
    if (object !== undefined) this.#reads.writes.saw(object);
    return object;
  }

  /**
   * Reads an object from its cache or from the controller's own writes, whichever is newer. Reads it live if neither
   * has the whole object, or if an account may lack the right to read it: another account may have made those writes.
   */
  async readKnown(kind: ResourceKind, reference: ObjectReference): Promise<LiveObject | undefined> {
    if (!this.#actor.mayRead(kind, reference.namespace)) return this.readLive(reference);
    const cache = this.#actor.composed?.cache(kind);
    const problem = this.#actor.composed?.problem?.(kind);
    if (problem !== undefined) this.#reads.unwatched.set(kind.kind, problem);
    const newest = this.#reads.writes.newest(reference, cache?.get(reference.name, reference.namespace));
    if (newest !== undefined && cache?.isWhole(newest) !== false) return newest;
    const live = await this.readLive(reference);
    const isRefused = newest !== undefined && live !== undefined && cache?.complete(live) === false;
    if (isRefused) this.#reads.uncached.add(kind.kind);
    return live;
  }
}
