import type { Definition } from "@xfn/composition/definition";
import type { EventRecorder, LiveObject, ResourceKind } from "@xfn/kubernetes";
import type { Actors } from "../account/actors.ts";
import type { ApplyCache } from "../objects/apply-cache.ts";
import { isSecret } from "../objects/kinds.ts";
import type { OwnWrites } from "../objects/own-writes.ts";
import type { Action } from "../plan/action.ts";
import { executeOrThrow, requireFound } from "../plan/execute.ts";
import type { Outcome } from "../plan/outcome.ts";
import { planInOrder } from "../plan/plan.ts";

/** Everything that one reconcile uses, except its claim. */
export interface ClaimPort {
  readonly actors: Actors;
  readonly events: EventRecorder;
  /** The types of conditions that functions also show on the claim, by the UID of the XR. */
  readonly shown: ReadonlyMap<string, ReadonlySet<string>>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Aborts the reconcile. */
  readonly signal: AbortSignal;
}

/** The state of one claim that the process retains between reconciles. It only saves requests and events. */
export interface ClaimMemory {
  readonly writes: OwnWrites;
  readonly applies: ApplyCache;
  /** The fields that an event has reported as set by the Composition. */
  readonly yielded: Set<string>;
}

/** The claim that is reconciled, with the kinds of its definition. */
export interface Subject {
  readonly definition: Definition;
  readonly claims: ResourceKind;
  readonly composites: ResourceKind;
  readonly memory: ClaimMemory;
  /** As last read or written. */
  claim: LiveObject;
}

export type ActorName = keyof Actors;
/** An event about an object, for its users. */
export type ObjectEvent = Parameters<EventRecorder["record"]>[1];
/** Writes in order: a failure prevents all later ones. */
export type Writes = readonly Action<ActorName>[];

/**
 * Executes writes, and retains the server's answers until the caches show them.
 *
 * @throws {ApiError} the first failure; `NotFound` if an object to patch no longer exists
 */
export async function carryOut(
  { actors, signal }: ClaimPort,
  subject: Subject,
  writes: Writes,
): Promise<Outcome<ActorName>> {
  const { memory } = subject;
  return executeOrThrow(planInOrder("claim", writes), {
    actors,
    signal,
    onResult: (action, result) => {
      requireFound(action, result);
      if (result.is !== "done" || result.object === undefined) return;
      const { object } = result;
      // A failure of a later write is reported in the claim.
      if (object.metadata.uid === subject.claim.metadata.uid) subject.claim = object;
      if (action.do === "delete" || isSecret(object)) return;
      memory.writes.saw(object);
      if (action.do === "apply") memory.applies.record(action.intent, object, { fieldManager: action.manager });
    },
  });
}
