import type { Composition } from "@xfn/composition";
import type { Definition } from "@xfn/composition/definition";
import { layoutOfDefinition } from "@xfn/composition/definition";
import type { LiveObject } from "@xfn/kubernetes";
import type { PipelineResult } from "@xfn/pipeline";
import { actorsOf } from "../account/actors.ts";
import { ComposingAccounts } from "../account/composing-accounts.ts";
import { discoverKinds } from "../composite/observe/discover-kinds.ts";
import { observeComposed, observedEntries, readConnectionSecret } from "../composite/observe/observe-composed.ts";
import { applicables } from "../composite/plan/applicable.ts";
import { requireSupported, runComposition } from "../composite/run/run-composition.ts";
import { runEnvironment } from "../composite/run/run-environment.ts";
import { emptyMemory } from "../composite/state/composite-memory.ts";
import { Notes } from "../composite/state/notes.ts";
import { PullSecretCache } from "../composite/state/pull-secret-cache.ts";
import type { ReconcileContext } from "../composite/state/reconcile-context.ts";
import { RunSecrets } from "../composite/state/run-secrets.ts";
import { RequiredSchemas } from "../functions/required-schemas.ts";
import { asCompositeError } from "../objects/composite-error.ts";
import type { Context } from "../objects/context.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { isSecret } from "../objects/kinds.ts";
import { controllerOf } from "../objects/owner.ts";
import { type Difference, differencesOf } from "./differences.ts";
import { readOnlyContext } from "./read-only-context.ts";

/** A run in shadow of a revision. */
export interface ShadowRun {
  readonly definition: Definition;
  readonly revision: LiveObject;
  readonly composition: Composition;
  readonly xr: LiveObject;
  readonly signal: AbortSignal;
}

/**
 * Composes an XR with a revision that it does not use, and returns what would change. Writes nothing: the API server
 * computes the changes in dry runs, which also show what it would refuse. Functions run, so side effects of their own
 * happen.
 *
 * @throws {CompositeError | PipelineError | ApiError} as a reconcile with the revision would, without values of Secrets
 */
export async function shadowRun(
  base: Context,
  { definition, revision, composition, xr, signal }: ShadowRun,
): Promise<Difference[]> {
  const own = readOnlyContext(base);
  const actors = actorsOf(own, definition);
  const context: ReconcileContext = {
    ...own,
    actors: { ...actors, composition: actors.xr },
    accounts: new ComposingAccounts(own, definition, actors.xr),
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
  const { actors, xr, signal } = context;
  await actors.xr.requireAccount(xr, signal);
  requireSupported(context, composition);
  actors.composition = await context.accounts.actorOf(composition, xr, signal);
  const observed = await observeComposed(context);
  const secret = await readConnectionSecret(context);
  const { entries } = await observedEntries(context, composition, observed);
  const environment = await runEnvironment(context, composition);
  const state = { observed: entries, secret, environment };
  const run = await runComposition(context, { composition, revision }, state);
  // Functions see no content of composed Secrets by default, but differences compare the objects.
  for (const object of observed.entries.values()) context.secrets.addObject(object);
  const found: Difference[] = [];
  const kinds = await discoverKinds(
    actors.xr.client,
    run.composed.map(({ resource }) => resource),
    signal,
  );
  const { allowComposedSecrets } = context;
  const { refused, resources } = applicables(run.composed, {
    xr,
    entries: observed.entries,
    kinds,
    allowComposedSecrets,
  });
  for (const refusal of refused.values()) throw refusal;
  for (const { entry, intent, observed: applied } of resources.values()) {
    const options = { fieldManager: FIELD_MANAGERS.composed, signal };
    const desired = await actors.composition.client.apply(intent, options).catch((error: unknown) => {
      throw asCompositeError(error, `composed resource ${JSON.stringify(entry)}`, isSecret(intent));
    });
    found.push(...differencesOf(entry, applied, desired, context.secrets));
  }
  return [...found, ...deletions(run, observed.entries, context)];
}

function deletions(
  { deleted }: PipelineResult,
  entries: ReadonlyMap<string, LiveObject>,
  { xr, secrets }: ReconcileContext,
): Difference[] {
  return deleted.flatMap((name) => {
    const object = entries.get(name);
    return object === undefined || controllerOf(object)?.uid !== xr.metadata.uid
      ? []
      : differencesOf(name, object, undefined, secrets);
  });
}
