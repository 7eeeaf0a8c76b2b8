import type { Definition } from "@xfn/composition/definition";
import type { LiveObject } from "@xfn/kubernetes";
import type { Actor, OwnAccess } from "../../account/actor.ts";
import { type Actors, actorsOf } from "../../account/actors.ts";
import { ComposingAccounts } from "../../account/composing-accounts.ts";
import { type SelectedRevision, selectRevision } from "../../revision/select-revision.ts";
import type { CompositeActors } from "./composite-actors.ts";
import { type CallersOptions, type CompositeCallers, callersOf } from "./composite-callers.ts";
import type { CompositeMemory } from "./composite-memory.ts";
import { type CompositeLimits, type CompositePort, type LimitsOptions, limitsOf } from "./composite-port.ts";
import { PlanWriter } from "./plan-writer.ts";
import { ReconcileReader } from "./reconcile-reader.ts";
import { Shown, type ShownCallbacks } from "./shown.ts";

/** Everything that the reconciles of one definition's XRs share. */
export interface CompositeShared {
  readonly actors: Actors;
  readonly accounts: ComposingAccounts;
  readonly callers: CompositeCallers;
  readonly limits: CompositeLimits;
  readonly now: () => number;
  readonly select: (xr: LiveObject, signal: AbortSignal) => Promise<SelectedRevision>;
}

/** The access, the callers and the settings with which XRs are composed. */
export interface ComposingOptions extends OwnAccess, CallersOptions, LimitsOptions {}

export function sharedBy(options: ComposingOptions, definition: Definition): CompositeShared {
  const { now } = options;
  const limits = limitsOf(options);
  const { rollouts } = limits;
  const actors = actorsOf(options, definition);
  const { client, informers } = actors.xr;
  return {
    actors,
    accounts: new ComposingAccounts(actors, definition, now),
    callers: callersOf(options),
    limits,
    now,
    select: async (xr, signal) => await selectRevision({ client, informers, rollouts }, definition, xr, signal),
  };
}

/** The port of one reconcile. */
export function portOf(
  { actors: { own, xr }, accounts, callers, limits, now, select }: CompositeShared,
  memory: Pick<CompositeMemory, "applies" | "inputs" | "settled" | "writes">,
  callbacks: ShownCallbacks,
  signal: AbortSignal,
): CompositePort {
  const clock = { now, signal };
  const shown = new Shown(callbacks);
  const { inputs, settled, writes } = memory;
  const actors: CompositeActors & { composition: Actor } = {
    own,
    xr,
    composition: xr,
    reader: (as) => new ReconcileReader(actors[as], { writes, settled, shown, signal }),
    select: async (composite) => {
      const selected = await select(composite, signal).catch((error: unknown) => {
        settled.sawOther();
        throw error;
      });
      settled.sawRevision(selected.revision);
      return selected;
    },
    composeWith: async (composition, composite) => {
      inputs.noteAccount(composition.spec.serviceAccountRef);
      actors.composition = await accounts.actorOf(composition, composite, signal);
      // Each reconcile checks the account's rights.
      if (actors.composition !== own) settled.sawOther();
    },
  };
  return { actors, callers, clock, limits, shown, writer: new PlanWriter({ actors, signal, shown }, memory) };
}
