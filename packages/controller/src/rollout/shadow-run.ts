import { ANNOTATION_RESOURCE_NAME, type Composition } from "@xfn/composition";
import { type Definition, layoutOfDefinition } from "@xfn/composition/definition";
import type { LiveObject } from "@xfn/kubernetes";
import { actorsOf } from "../account/actors.ts";
import { ComposingAccounts } from "../account/composing-accounts.ts";
import { compose } from "../composite/compose.ts";
import { observeComposed } from "../composite/observe/observe-composed.ts";
import { planRun } from "../composite/plan-run.ts";
import { emptyMemory } from "../composite/state/composite-memory.ts";
import { Notes } from "../composite/state/notes.ts";
import { PullSecretCache } from "../composite/state/pull-secret-cache.ts";
import { type ReconcileContext, readerOf } from "../composite/state/reconcile-context.ts";
import { RunSecrets } from "../composite/state/run-secrets.ts";
import { RequiredSchemas } from "../functions/required-schemas.ts";
import { asCompositeError } from "../objects/composite-error.ts";
import type { Context } from "../objects/context.ts";
import { isSecret } from "../objects/kinds.ts";
import { referenceTo } from "../objects/references.ts";
import { execute } from "../plan/execute.ts";
import { type Difference, differencesOf } from "./differences.ts";

/** A run in shadow of a revision. */
export interface ShadowRun {
  readonly definition: Definition;
  readonly revision: LiveObject;
  readonly composition: Composition;
  readonly xr: LiveObject;
  readonly signal: AbortSignal;
}

/**
 * Composes an XR with a revision that it does not use, and returns the differences that the plan would make. Writes
 * nothing: the API server computes the changes in dry runs, which also show the writes that it would refuse. Functions
 * run, so side effects of their own happen.
 *
 * @throws {CompositeError | PipelineError | ApiError} as a reconcile with the revision would, without values of Secrets
 */
export async function shadowRun(
  base: Context,
  { definition, revision, composition, xr, signal }: ShadowRun,
): Promise<Difference[]> {
  const actors = actorsOf({ ...base, required: undefined }, definition);
  const context: ReconcileContext = {
    ...base,
    claimConditions: undefined,
    // A response of an earlier run would hide the function's current answer.
    responses: undefined,
    // A recording of an XR has the runs of its own revision.
    recordings: undefined,
    actors: { ...actors, composition: actors.xr },
    accounts: new ComposingAccounts({ ...base, required: undefined }, definition, actors.xr),
    definition,
    layout: layoutOfDefinition(definition),
    memory: emptyMemory(xr.metadata.uid, base.now),
    pullSecrets: new PullSecretCache(),
    schemas: new RequiredSchemas(base.now),
    signal,
    xr,
    notes: new Notes(),
    secrets: new RunSecrets(),
    progress: { hasWritten: false, slowedMs: undefined, uncached: new Set(), unwatched: new Map() },
    applied: [],
    fights: [],
    conditions: [],
  };
  try {
    return await differences(context, { revision, composition });
  } catch (error) {
    context.secrets.scrubError(error);
    throw error;
  }
}

async function differences(
  context: ReconcileContext,
  { revision, composition }: Pick<ShadowRun, "revision" | "composition">,
): Promise<Difference[]> {
  const { accounts, actors, secrets, signal, xr } = context;
  await actors.xr.requireAccount(xr, signal);
  actors.composition = await accounts.actorOf(composition, xr, signal);
  const observed = await observeComposed(readerOf(context, actors.composition), xr, context.layout);
  const composed = await compose(context, { composition, revision, changes: {} }, observed);
  // Functions see no content of composed Secrets by default, but differences compare the objects.
  for (const object of observed.entries.values()) secrets.addObject(object);
  const { entries, deletion, refused, stages } = await planRun(context, composed);
  for (const refusal of [...refused.values(), ...entries.map((one) => one.refusal)])
    if (refusal !== undefined) throw refusal;
  const applies = stages.filter(({ name }) => name === "apply");
  const outcome = await execute({ stages: applies }, { actors, signal, dryRun: true });
  const changed = entries.flatMap(({ entry, intent, existing, actions }) => {
    for (const action of actions) {
      const result = outcome.results.get(action);
      if (result?.is === "failed")
        throw asCompositeError(result.error, `composed resource ${JSON.stringify(entry)}`, isSecret(intent));
    }
    return differencesOf(entry, existing, outcome.latest(referenceTo(intent)) ?? existing, secrets);
  });
  const deleted = deletion.stages
    .flatMap(({ actions }) => actions)
    .flatMap((action) => {
      if (action.do !== "delete") return [];
      const entry = action.seen.metadata.annotations?.[ANNOTATION_RESOURCE_NAME] ?? "";
      return differencesOf(entry, action.seen, undefined, secrets);
    });
  return [...changed, ...deleted];
}
