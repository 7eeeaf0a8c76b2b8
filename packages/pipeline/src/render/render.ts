import { type Composition, connectionDetailName, isComplete } from "@xfn/composition";
import type { Desired } from "@xfn/functionio";
import { isObject, type JsonObject, type KubernetesObject, objectAt, valueAt } from "@xfn/json";
import { takeCompositeSecret } from "../observed/composite-secret.ts";
import { asComposite, type CompositeResource, identityOf, observedEntries } from "../observed/observed-entries.ts";
import { withoutOwnOutput } from "../observed/own-output.ts";
import { PipelineError } from "../outcome/pipeline-error.ts";
import { environmentOf } from "../steps/environment.ts";
import { type PipelineResult, runPipeline } from "../steps/run-pipeline.ts";
import { composeError, ready, synced, withConditions, withFixedTimes } from "./conditions.ts";
import { merge } from "./merge.ts";
import type { RenderInput, RenderResult } from "./render-types.ts";

/**
 * Renders a Composition for an XR without a cluster. The result depends only on the inputs and the functions.
 *
 * @throws {PipelineError}
 */
export async function render(given: RenderInput): Promise<RenderResult> {
  const composite = asComposite(given.composite);
  const input = { ...given, observed: withoutOwnOutput(given.observed ?? [], composite) };
  checkSelector(input.composition, composite);
  if (isComplete(input.composition)) {
    const { renderComplete } = await import("./render-complete.ts");
    return await renderComplete(input, composite);
  }
  const { objects, connectionDetails } = takeCompositeSecret(input.observed, composite);
  const observed = observedEntries(objects, composite);
  const { composition, environmentConfigs: configs = [] } = input;
  const selected = environmentOf({ composition, composite, configs });
  const environment = selected && { environment: selected.environment };
  const details = connectionDetails && { connectionDetails };
  const run = { ...input, composite, observed, ...details, applied: appliedStatus(composite), ...environment };
  return present(await runPipeline(run));
}

/** The status of an XR comes from an earlier render, or a cluster. Only a controller knows the owner of each field. */
function appliedStatus({ status }: CompositeResource): JsonObject {
  if (!isObject(status)) return {};
  const { conditions: _, ...rest } = status;
  return { status: rest };
}

function present(run: PipelineResult): RenderResult {
  const { composite, desired, fatal } = run;
  const { unready } = run;
  // After a fatal result the readiness of composed resources is unknown, so there is no Ready condition.
  const conditions = fatal === undefined ? [synced(), ready(unready)] : [synced(composeError(fatal))];
  const wanted = fatal === undefined ? (desired.composite?.resource ?? {}) : {};
  return {
    composite: withConditions(shortComposite(composite, wanted), conditions),
    fullComposite: withConditions(merge(composite, wanted), conditions),
    resources: run.composed.map((one) => withFixedTimes(one.resource)),
    deleted: run.deleted,
    unready,
    results: run.results,
    connectionDetails: run.connectionDetails,
    exposedByFunctions: exposedBy(desired),
    ...(fatal && { fatal }),
  };
}

function exposedBy({ composite, resources = [] }: Desired): string[] {
  const details = [composite, ...resources].flatMap((entry) => entry?.connectionDetails ?? []);
  return [...new Set(details.flatMap((detail) => connectionDetailName(detail) ?? []))].toSorted();
}

function shortComposite(composite: CompositeResource, wanted: KubernetesObject): KubernetesObject {
  const { status } = wanted;
  return { ...identityOf(composite), ...(isObject(status) && { status }) };
}

/** An XR can select Compositions by label. */
function checkSelector(composition: Composition, composite: CompositeResource): void {
  const spec = objectAt(composite, "spec");
  const machinery = isObject(spec["crossplane"]) ? spec["crossplane"] : spec;
  const wanted = valueAt(machinery, "compositionSelector", "matchLabels");
  if (!isObject(wanted)) return;
  const labels: JsonObject = composition.metadata.labels ?? {};
  const missing = Object.keys(wanted).filter((key) => !Object.hasOwn(labels, key) || labels[key] !== wanted[key]);
  if (missing.length === 0) return;
  throw new PipelineError(
    "CompositionMismatch",
    `the composite resource ${composite.metadata.name} selects Compositions by label (compositionSelector.matchLabels); ` +
      `${composition.metadata.name ?? "this Composition"} lacks ${missing.map((key) => `${key}: ${JSON.stringify(wanted[key])}`).join(", ")}`,
  );
}
