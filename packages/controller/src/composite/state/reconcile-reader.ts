import type { LiveObject, ObjectReference, ResourceKind } from "@xfn/kubernetes";
import type { Actor } from "../../account/actor.ts";
import type { OwnWrites } from "../../objects/own-writes.ts";
import { findLive } from "../../objects/read-objects.ts";
import type { SettledReads } from "./settled-reads.ts";
import type { Shown } from "./shown.ts";

/** The part of a reconcile that its reads affect. */
export interface Reading {
  /** The server's answers to the controller's own writes and live reads. */
  readonly writes: OwnWrites;
  readonly settled: SettledReads;
  readonly shown: Pick<Shown, "uncached" | "unwatched">;
  readonly signal: AbortSignal;
}

/** Reads objects for one reconcile with the rights of one actor. */
export class ReconcileReader {
  readonly #actor: Actor;
  readonly #writes: OwnWrites;
  readonly #settled: SettledReads;
  readonly #shown: Reading["shown"];
  readonly #signal: AbortSignal;

  constructor(actor: Actor, { writes, settled, shown, signal }: Reading) {
    this.#actor = actor;
    this.#writes = writes;
    this.#settled = settled;
    this.#shown = shown;
    this.#signal = signal;
  }

  /** @throws {ApiError} `KindNotServed` */
  async kindOf(apiVersion: string, kind: string): Promise<ResourceKind> {
    try {
      return await this.#actor.client.kind(apiVersion, kind, { signal: this.#signal });
    } catch (error) {
      this.#settled.sawOther();
      throw error;
    }
  }

  async listOf(kind: ResourceKind, labelSelector?: string): Promise<readonly LiveObject[]> {
    this.#settled.sawOther();
    return (await this.#actor.client.list(kind, { labelSelector, signal: this.#signal })).items;
  }

  /** Reads an object from the API server, and does not retain it; undefined if it does not exist. */
  async readOnce(reference: ObjectReference): Promise<LiveObject | undefined> {
    this.#settled.sawOther();
    return await findLive(this.#actor, reference, this.#signal);
  }

  /** Reads an object from the API server; undefined if it does not exist. */
  async readLive(reference: ObjectReference): Promise<LiveObject | undefined> {
    this.#settled.sawOther();
    return await this.#readWhole(reference);
  }

  async #readWhole(reference: ObjectReference): Promise<LiveObject | undefined> {
    const object = await findLive(this.#actor, reference, this.#signal);
    if (object !== undefined) this.#writes.saw(object);
    return object;
  }

  /**
   * Reads an object from its cache or from the controller's own writes, whichever is newer. Reads it live if neither
   * has the whole object, or if an account may lack the right to read it: another account may have made those writes.
   */
  async readKnown(kind: ResourceKind, reference: ObjectReference): Promise<LiveObject | undefined> {
    if (!this.#actor.mayRead(kind, reference.namespace)) return this.readLive(reference);
    const cache = this.#actor.composed.cache(kind);
    const problem = this.#actor.composed.problem(kind);
    if (problem !== undefined) this.#shown.unwatched.set(kind.kind, problem);
    const cached = cache?.get(reference.name, reference.namespace);
    this.#settled.sawComposed(kind, cached);
    const newest = this.#writes.newest(reference, cached);
    if (newest !== undefined && cache?.isWhole(newest) !== false) return newest;
    const live = await this.#readWhole(reference);
    const isRefused = newest !== undefined && live !== undefined && cache?.complete(live) === false;
    if (isRefused) this.#shown.uncached.add(kind.kind);
    return live;
  }
}
