import {
  type Composition,
  type ConnectionDetails,
  EnvironmentError,
  isCompatible,
  selectEnvironment,
} from "@xfn/composition";
import type { JsonObject, JsonValue, KubernetesObject } from "@xfn/functionio";
import { isObject } from "@xfn/functionio";
import { asComposite, type CompositeResource, observedEntries } from "../observed/observed-entries.ts";
import { PipelineError } from "../outcome/pipeline-error.ts";
import type { StepResult } from "../outcome/step-result.ts";
import type { PipelineInput } from "../steps/pipeline-input.ts";
import { type PipelineResult, runPipeline } from "../steps/run-pipeline.ts";
import { labelled } from "../steps/run-templates.ts";
import { ready, synced, withConditions, withFixedTimes } from "./conditions.ts";

/** The input of a render: the contents of the files of `crossplane render`. */
export interface RenderInput
  extends Pick<
    PipelineInput,
    "composition" | "runner" | "signal" | "auth" | "onStep" | "onPhase" | "onWarning" | "onRecord"
  > {
  /** The XR. */
  composite: JsonValue;
  /** Composed resources that exist, named by their `crossplane.io/composition-resource-name` annotation. */
  observed?: readonly JsonValue[];
  /** The EnvironmentConfig objects that the Composition selects its environment from. Default: none. */
  environmentConfigs?: readonly JsonValue[];
}

/** The output of `xfn render`, and further facts. */
export interface RenderResult {
  /** The XR: apiVersion, kind, name and the status that it would have. */
  composite: KubernetesObject;
  /** The XR with its input fields and all fields that functions desire. */
  fullComposite: KubernetesObject;
  /** The composed resources, sorted by entry name. Empty after a fatal result. */
  resources: KubernetesObject[];
  /** The names of the entries whose resources would be deleted, sorted. */
  deleted: string[];
  /** The names of the entries that are not ready, sorted; see {@link PipelineResult.unready}. */
  unready: string[];
  /** The results of the functions and the pipeline's own warnings, in order. */
  results: StepResult[];
  /** The connection details that the XR would publish. Values are never printed. */
  connectionDetails: ConnectionDetails;
  /** The result that ended the run, if there is one: nothing would be applied. */
  fatal?: StepResult;
}

/**
 * Renders a Composition for an XR without a cluster. The result depends only on the inputs and the functions.
 *
 * @throws {PipelineError}
 */
export async function render(input: RenderInput): Promise<RenderResult> {
  const composite = asComposite(input.composite);
  checkSelector(input.composition, composite);
  const observed = observedEntries(input.observed ?? [], composite);
  const environment = environmentOf(input, composite);
  return present(await runPipeline({ ...input, composite, observed, ...(environment && { environment }) }));
}

function environmentOf(
  { composition, environmentConfigs }: RenderInput,
  composite: CompositeResource,
): JsonObject | undefined {
  // A Composition for another kind must get its own error, not one about a missing environment.
  if (!isCompatible(composition, composite)) return undefined;
  try {
    return selectEnvironment(composition, labelled(composite), (environmentConfigs ?? []).filter(isObject));
  } catch (cause) {
    if (!(cause instanceof EnvironmentError)) throw cause;
    const message = `the environment of the composite resource cannot be made: ${cause.message}`;
    throw new PipelineError("InvalidEnvironment", message, { cause, retryable: cause.retryable });
  }
}

function present(run: PipelineResult): RenderResult {
  const { composite, desired, fatal } = run;
  const { unready } = run;
  // After a fatal result the readiness of composed resources is unknown, so there is no Ready condition.
  const conditions = fatal === undefined ? [synced(), ready(unready)] : [synced(fatalMessage(fatal))];
  const wanted = fatal === undefined ? (desired.composite?.resource ?? {}) : {};
  return {
    composite: withConditions(shortComposite(composite, wanted), conditions),
    fullComposite: withConditions(fullComposite(composite, wanted), conditions),
    resources: run.composed.map((one) => withFixedTimes(one.resource)),
    deleted: run.deleted,
    unready,
    results: run.results,
    connectionDetails: run.connectionDetails,
    ...(fatal && { fatal }),
  };
}

function fatalMessage({ step, message }: StepResult): string {
  return `cannot compose resources: pipeline step "${step}" returned a fatal result: ${message}`;
}

function shortComposite(composite: CompositeResource, wanted: KubernetesObject): KubernetesObject {
  const { name, namespace } = composite.metadata;
  return {
    apiVersion: composite.apiVersion,
    kind: composite.kind,
    metadata: { name, ...(namespace && { namespace }) },
    ...(isObject(wanted["status"]) && { status: wanted["status"] }),
  };
}

/** An approximation of the API server's result: objects merge, other values replace. */
function fullComposite(composite: CompositeResource, wanted: KubernetesObject): KubernetesObject {
  return merge(composite, wanted);
}

function merge(base: JsonObject, overlay: JsonObject): JsonObject {
  const merged = { ...base };
  for (const [key, value] of Object.entries(overlay)) {
    const before = Object.hasOwn(merged, key) ? merged[key] : undefined;
    const after = isObject(before) && isObject(value) ? merge(before, value) : value;
    // `__proto__` is an ordinary key here; an assignment would set the prototype.
    Object.defineProperty(merged, key, { value: after, enumerable: true, configurable: true, writable: true });
  }
  return merged;
}

/** An XR can select Compositions by label. */
function checkSelector(composition: Composition, composite: CompositeResource): void {
  const spec = isObject(composite["spec"]) ? composite["spec"] : {};
  const machinery = isObject(spec["crossplane"]) ? spec["crossplane"] : spec;
  const selector = machinery["compositionSelector"];
  const wanted = isObject(selector) ? selector["matchLabels"] : undefined;
  if (!isObject(wanted)) return;
  const labels: JsonObject = composition.metadata.labels ?? {};
  const missing = Object.keys(wanted).filter((key) => !Object.hasOwn(labels, key) || labels[key] !== wanted[key]);
  if (missing.length === 0) return;
  throw new PipelineError(
    "CompositionMismatch",
    `the composite resource ${composite.metadata.name} selects Compositions by label (compositionSelector.matchLabels); ` +
      `${composition.metadata.name ?? "this Composition"} has not the same ${missing.join(", ")}`,
  );
}
