import { isCompatible } from "@xfn/composition";
import type { ObservedResource } from "@xfn/functionio";
import { takeCompositeSecret } from "../observed/composite-secret.ts";
import { type CompositeResource, describe, observedEntries } from "../observed/observed-entries.ts";
import { PipelineError } from "../outcome/pipeline-error.ts";
import { runPipeline } from "../steps/run-pipeline.ts";
import { presentComplete } from "./present-complete.ts";
import { reconciled } from "./reconciled.ts";
import type { RenderInput, RenderResult } from "./render-types.ts";

/**
 * Renders a Composition with `mode: Pipeline` like `crossplane render` 2.
 *
 * @throws {PipelineError}
 */
export async function renderComplete(input: RenderInput, given: CompositeResource): Promise<RenderResult> {
  const { composition, isLegacy = false } = input;
  // A Composition for another kind must get its own error, not one about observed resources.
  const found = isCompatible(composition, given) ? (input.observed ?? []) : [];
  const { objects, connectionDetails } = takeCompositeSecret(found, given);
  const composite = reconciled(given, composition, objects, { isLegacy });
  const observed = observedEntries(objects, composite);
  checkNamespaces(observed, composite);
  const run = await runPipeline({ ...input, composite, observed, ...(connectionDetails && { connectionDetails }) });
  return presentComplete({ run, given, layout: { isLegacy } });
}

/** A namespaced XR composes in its own namespace. */
function checkNamespaces(observed: readonly ObservedResource[], { metadata: { namespace } }: CompositeResource): void {
  if (!namespace) return;
  const others = observed.filter(({ resource }) => resource.metadata?.namespace !== namespace);
  if (others.length === 0) return;
  const lines = others.map(
    ({ resource }) => `observed ${describe(resource)}: is not in the namespace ${namespace} of the composite resource`,
  );
  throw new PipelineError("InvalidObserved", lines.join("\n"));
}
