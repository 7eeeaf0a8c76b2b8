import type { LiveObject, ObjectReference, ResourceKind } from "@xfn/kubernetes";
import type { Actor } from "../../account/actor.ts";
import type { OwnWrites } from "../../objects/own-writes.ts";
import { findLive } from "../../objects/read-objects.ts";
import type { CompositePort } from "../state/composite-port.ts";
import type { Shown } from "../state/shown.ts";

/** Reads objects for one reconcile with the rights of one actor. */
export class ReconcileReader {
  readonly #actor: Actor;
  readonly #writes: OwnWrites;
  readonly #shown: Pick<Shown, "uncached" | "unwatched">;
  readonly #signal: AbortSignal;

  /** @param writes the server's answers to the controller's own writes and live reads */
  constructor(actor: Actor, writes: OwnWrites, { shown, clock }: Pick<CompositePort, "clock" | "shown">) {
    this.#actor = actor;
    this.#writes = writes;
    this.#shown = shown;
    this.#signal = clock.signal;
  }

  /** @throws {ApiError} `KindNotServed` */
  async kindOf(apiVersion: string, kind: string): Promise<ResourceKind> {
    return await this.#actor.client.kind(apiVersion, kind, { signal: this.#signal });
  }

  async listOf(kind: ResourceKind, labelSelector?: string): Promise<readonly LiveObject[]> {
    return (await this.#actor.client.list(kind, { labelSelector, signal: this.#signal })).items;
  }

  /** Reads an object from the API server, and does not retain it; undefined if it does not exist. */
  async readOnce(reference: ObjectReference): Promise<LiveObject | undefined> {
    return await findLive(this.#actor, reference, this.#signal);
  }

  /** Reads an object from the API server; undefined if it does not exist. */
  async readLive(reference: ObjectReference): Promise<LiveObject | undefined> {
    const object = await this.readOnce(reference);
    if (object !== undefined) this.#writes.saw(object);
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
    if (problem !== undefined) this.#shown.unwatched.set(kind.kind, problem);
    const newest = this.#writes.newest(reference, cache?.get(reference.name, reference.namespace));
    if (newest !== undefined && cache?.isWhole(newest) !== false) return newest;
    const live = await this.readLive(reference);
    const isRefused = newest !== undefined && live !== undefined && cache?.complete(live) === false;
    if (isRefused) this.#shown.uncached.add(kind.kind);
    return live;
  }
}
