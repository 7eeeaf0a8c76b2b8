import type { Layout } from "@xfn/composition";
import type { Definition } from "@xfn/composition/definition";
import type { LiveObject } from "@xfn/kubernetes";
import type { Actor } from "../../account/actor.ts";
import type { Actors } from "../../account/actors.ts";
import type { ComposingAccounts } from "../../account/composing-accounts.ts";
import type { RequiredSchemas } from "../../functions/required-schemas.ts";
import type { Condition } from "../../objects/conditions.ts";
import type { Context } from "../../objects/context.ts";
import type { RevisionReader } from "../../revision/select-revision.ts";
import { ReconcileReader } from "../observe/reconcile-reader.ts";
import type { CompositeMemory } from "./composite-memory.ts";
import type { Notes } from "./notes.ts";
import type { PullSecretCache } from "./pull-secret-cache.ts";
import type { RunSecrets } from "./run-secrets.ts";

/** The actors of one reconcile of one XR. */
export interface ReconcileActors extends Actors {
  /**
   * Reads and writes the objects that the Composition reads and composes: the Composition's account, or the actor of
   * the XR if no account is named or selected yet.
   */
  composition: Actor;
}

export type ActorName = keyof ReconcileActors;

/** One reconcile of one XR. Each request names the actor whose rights it uses. */
export interface ReconcileContext extends Omit<Context, "client" | "composed" | "required"> {
  readonly definition: Definition;
  readonly actors: ReconcileActors;
  readonly accounts: ComposingAccounts;
  /** The location of the fields that the controller reads and writes. */
  readonly layout: Layout;
  readonly memory: CompositeMemory;
  readonly pullSecrets: PullSecretCache;
  readonly schemas: RequiredSchemas;
  readonly signal: AbortSignal;
  /** The XR as last read or written. */
  xr: LiveObject;
  /** Reported as events at the end of this reconcile. */
  readonly notes: Notes;
  /** The values of Secrets that this reconcile read. */
  readonly secrets: RunSecrets;
  readonly progress: ReconcileProgress;
  /** The composed resources after the apply. */
  applied: readonly LiveObject[];
  /** Messages about composed resources that another writer changes back. */
  readonly fights: string[];
  /** The conditions that functions set in this reconcile. */
  conditions: readonly Condition[];
}

export interface ReconcileProgress {
  /** Whether the reconcile has written anything except a status. */
  hasWritten: boolean;
  /** The time in milliseconds until a write that the circuit breaker delays may be sent. */
  slowedMs: number | undefined;
  /** The kinds of composed resources for which the caches have no space. */
  readonly uncached: Set<string>;
  /** Why the API server refuses to watch kinds of composed resources. */
  readonly unwatched: Map<string, string>;
}

/** Reads the revision of an XR, and the objects that select it. */
export function revisionReader({ actors: { xr }, informers, rollouts }: ReconcileContext): RevisionReader {
  return { client: xr.client, informers, rollouts };
}

/** Reads objects with the rights of an actor. */
export function readerOf({ memory, progress, signal }: Reading, actor: Actor): ReconcileReader {
  return new ReconcileReader(actor, {
    writes: memory.writes,
    uncached: progress.uncached,
    unwatched: progress.unwatched,
    signal,
  });
}

type Reading = Pick<ReconcileContext, "memory" | "progress" | "signal">;
