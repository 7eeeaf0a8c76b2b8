import { referenceTo } from "../objects/references.ts";
import { observeComposed } from "./observe/observe-composed.ts";
import { refuseRecursion } from "./observe/refuse-recursion.ts";
import { requireRestored } from "./observe/require-restored.ts";
import { planAdoption } from "./plan/plan-adoption.ts";
import { planPin, planSelection } from "./plan/plan-composite.ts";
import { planReuse } from "./plan/plan-reuse.ts";
import { type ComposedRun, compose } from "./run/compose.ts";
import type { CompositePort, Subject } from "./state/composite-port.ts";
import { explainFailure } from "./state/explain-failure.ts";

/**
 * Selects a revision, and composes with it. Writes only a pinned revision, that a revision is used again,
 * and the owners of composed resources that a restore left.
 *
 * @throws {CompositeError | PipelineError | SelectionError | ApiError}
 */
export async function composeSelected(port: CompositePort, subject: Subject): Promise<ComposedRun> {
  const { actors, limits, shown, writer } = port;
  const { layout, memory, xr } = subject;
  const selected = await actors.select(xr);
  const { composition, changes, revision } = selected;
  await refuseRecursion(port, xr, composition.metadata.name ?? "");
  await actors.composeWith(composition, xr);
  const reader = actors.reader("composition");
  let observed = await observeComposed(reader, xr, layout);
  requireRestored(xr, observed.missing, layout);
  if (observed.former.length > 0) {
    await writer.executeOrThrow(xr, planAdoption(xr, observed.former));
    observed = await observeComposed(reader, xr, layout);
    requireRestored(xr, observed.missing, layout);
  }
  for (const note of observed.notes) shown.warn(note);
  const { namespace: secretsNamespace } = limits;
  const selection = { composition, changes, desired: undefined, layout, memory, secretsNamespace };
  subject.xr = await writer.executeOrThrow(xr, planPin({ ...selection, xr }));
  try {
    return await compose(port, subject, selected, observed);
  } catch (error) {
    // A failure of this write is harmless: the next poll of the revision also detects the use.
    await writer.executeOnce(planReuse(revision, explainFailure(error)));
    // A run that succeeds records the selection with its references, in one write.
    const recorded = await writer.execute(planSelection({ ...selection, xr: subject.xr }));
    subject.xr = recorded.latest(referenceTo(xr)) ?? subject.xr;
    throw error;
  }
}
