import type { Layout } from "@xfn/composition";
import type { Definition } from "@xfn/composition/definition";
import type { Informers, LiveObject } from "@xfn/kubernetes";
import type { Actor } from "../../account/actor.ts";
import type { Actors } from "../../account/actors.ts";
import type { ComposingAccounts } from "../../account/composing-accounts.ts";
import { RequiredSchemas } from "../../functions/required-schemas.ts";
import type { Context } from "../../objects/context.ts";
import type { RevisionReader } from "../../revision/select-revision.ts";
import type { CompositeMemory } from "./composite-memory.ts";
import { PullSecretCache } from "./pull-secret-cache.ts";
import type { Shown } from "./shown.ts";

/** The users whose rights one reconcile of one XR has. */
export interface CompositeActors extends Actors {
  readonly accounts: ComposingAccounts;
  /**
   * Reads and writes the objects that the Composition reads and composes: the Composition's account, or the actor of
   * the XR if no account is named or selected yet.
   */
  composition: Actor;
}

export type ActorName = Exclude<keyof CompositeActors, "accounts">;

/** The functions of Compositions, and what their runs share. */
export interface CompositeCallers
  extends Pick<Context, "functions" | "recordings" | "responses" | "runner" | "runners" | "tracing" | "webhooks"> {
  readonly pullSecrets: PullSecretCache;
  readonly schemas: RequiredSchemas;
}

/** The operator's settings for Compositions. */
export type CompositeLimits = Pick<
  Context,
  | "allowComposedSecrets"
  | "credentialsSecretNamespaces"
  | "functionPackages"
  | "functionRuntimes"
  | "namespace"
  | "pullSecretNamespaces"
  | "rollouts"
  | "serviceAccount"
>;

/** Everything that one reconcile uses, except its XR. */
export interface CompositePort {
  readonly actors: CompositeActors;
  /** The caches of watched kinds. */
  readonly caches: Pick<Informers, "peek">;
  readonly callers: CompositeCallers;
  readonly limits: CompositeLimits;
  readonly shown: Shown;
  readonly clock: {
    /** Milliseconds since the epoch. */
    readonly now: () => number;
    /** Aborts the reconcile. */
    readonly signal: AbortSignal;
  };
}

/** The XR that is reconciled. */
export interface Subject {
  readonly definition: Definition;
  /** The location of the fields that the controller reads and writes. */
  readonly layout: Layout;
  readonly memory: CompositeMemory;
  /** As last read or written. */
  xr: LiveObject;
}

/** Reads the revision of an XR, and the objects that select it. */
export function revisionReader({ actors, limits }: Pick<CompositePort, "actors" | "limits">): RevisionReader {
  const { client, informers } = actors.xr;
  return { client, informers, rollouts: limits.rollouts };
}

/** The functions of a controller without state of earlier runs. */
export function callersOf({
  functions,
  recordings,
  responses,
  runner,
  runners,
  tracing,
  webhooks,
  now,
}: Context): CompositeCallers {
  const shared = { pullSecrets: new PullSecretCache(), schemas: new RequiredSchemas(now) };
  return { functions, recordings, responses, runner, runners, tracing, webhooks, ...shared };
}
