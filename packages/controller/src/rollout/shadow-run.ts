import { ANNOTATION_RESOURCE_NAME, type Composition } from "@xfn/composition";
import { type Definition, layoutOfDefinition } from "@xfn/composition/definition";
import type { LiveObject } from "@xfn/kubernetes";
import { planRun } from "../composite/apply/plan-run.ts";
import { observeComposed } from "../composite/observe/observe-composed.ts";
import { compose } from "../composite/run/compose.ts";
import { emptyMemory } from "../composite/state/composite-memory.ts";
import type { CompositePort, Subject } from "../composite/state/composite-port.ts";
import { type ComposingOptions, portOf, sharedBy } from "../composite/state/composite-shared.ts";
import { NO_CALLBACKS } from "../composite/state/shown.ts";
import { asCompositeError } from "../objects/composite-error.ts";
import { isSecret } from "../objects/kinds.ts";
import { referenceTo } from "../objects/references.ts";
import { execute } from "../plan/execute.ts";
import type { SelectedRevision } from "../revision/select-revision.ts";
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
  base: ComposingOptions,
  { definition, revision, composition, xr, signal }: ShadowRun,
): Promise<Difference[]> {
  // A response of an earlier run would hide the function's current answer. Recordings and inspectors show the XR's own
  // revision.
  const none = { required: undefined, responses: undefined, recordings: undefined, inspector: undefined };
  const options: ComposingOptions = { ...base, ...none };
  const memory = emptyMemory(xr.metadata.uid, base.now);
  const port = portOf(sharedBy(options, definition), memory, NO_CALLBACKS, signal);
  const subject: Subject = { definition, layout: layoutOfDefinition(definition), memory, xr };
  try {
    return await differences(port, subject, { composition, revision, changes: {} });
  } catch (error) {
    port.shown.secrets.scrubError(error);
    throw error;
  }
}

async function differences(port: CompositePort, subject: Subject, selected: SelectedRevision): Promise<Difference[]> {
  const { actors, clock, shown } = port;
  const { layout, xr } = subject;
  const { signal } = clock;
  const { secrets } = shown;
  await actors.xr.requireAccount(xr, signal);
  await actors.composeWith(selected.composition, xr);
  const observed = await observeComposed(actors.reader("composition"), xr, layout);
  const composed = await compose(port, subject, selected, observed);
  // Functions see no content of composed Secrets by default, but differences compare the objects.
  for (const object of observed.entries.values()) secrets.addObject(object);
  const { entries, deletion, refused, stages } = await planRun(port, subject, composed);
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
