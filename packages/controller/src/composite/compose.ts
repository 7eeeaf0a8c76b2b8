import { execute } from "../plan/execute.ts";
import { selectRevision } from "../revision/select-revision.ts";
import type { ComposedRun } from "./apply/apply-run.ts";
import { executeOrThrow } from "./apply/execute-plan.ts";
import { observeComposed, observedEntries, readConnectionSecret } from "./observe/observe-composed.ts";
import { refuseRecursion } from "./observe/refuse-recursion.ts";
import { planPin } from "./plan/plan-composite.ts";
import { planReuse } from "./plan/plan-reuse.ts";
import { requireSupported, runComposition } from "./run/run-composition.ts";
import { runEnvironment } from "./run/run-environment.ts";
import { explainFailure } from "./state/explain-failure.ts";
import { type ReconcileContext, revisionReader } from "./state/reconcile-context.ts";

/**
 * Composes an XR: selects a revision, observes, and runs templates and functions. Writes only a pinned revision, and
 * that a revision is used again.
 *
 * @throws {CompositeError | PipelineError | SelectionError | ApiError}
 */
export async function compose(context: ReconcileContext): Promise<ComposedRun> {
  const selected = await selectRevision(revisionReader(context), context.definition, context.xr, context.signal);
  const { composition, changes } = selected;
  await refuseRecursion(context, composition.metadata.name ?? "");
  context.memory.inputs.noteAccount(composition.spec.serviceAccountRef);
  context.actors.composition = await context.accounts.actorOf(composition, context.xr, context.signal);
  const observed = await observeComposed(context);
  for (const note of observed.notes) context.notes.warn(note);
  await pinRevision(context, { composition, changes, references: observed.references });
  requireSupported(context, composition);
  const secret = await readConnectionSecret(context);
  const { entries, notes } = await observedEntries(context, composition, observed);
  for (const note of notes) context.notes.warn(note);
  const environment = await runEnvironment(context, composition);
  const run = await runComposition(context, selected, { observed: entries, secret, environment }).catch(
    async (error: unknown) => {
      // A failure is harmless: the next poll of the revision also detects the use.
      await execute(planReuse(selected.revision, explainFailure(error)), context);
      throw error;
    },
  );
  return { composition, changes: { ...changes, ...environment.changes }, observed, entries, secret, run };
}

/** @throws {ApiError} `Conflict` if the XR has changed since it was read */
async function pinRevision(
  context: ReconcileContext,
  selected: Pick<Parameters<typeof planPin>[0], "changes" | "composition" | "references">,
): Promise<void> {
  const { layout, memory, namespace: secretsNamespace, xr } = context;
  await executeOrThrow(context, planPin({ ...selected, desired: undefined, layout, memory, secretsNamespace, xr }));
}
