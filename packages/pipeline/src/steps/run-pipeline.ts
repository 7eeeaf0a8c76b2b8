import { type Composition, ConnectionDetails, isCompatible } from "@xfn/composition";
import type { Desired, Observed, ObservedResource } from "@xfn/functionio";
import { type ComposedResource, compose } from "../compose/compose.ts";
import { templateExtras } from "../compose/template-extras.ts";
import { asComposite, type CompositeResource, describe } from "../observed/observed-entries.ts";
import { PipelineError } from "../outcome/pipeline-error.ts";
import type { StepResult } from "../outcome/step-result.ts";
import type { PipelineInput } from "./pipeline-input.ts";
import { runFunctions } from "./run-functions.ts";
import { runTemplates } from "./run-templates.ts";

/** The outcome of a run. */
export interface PipelineResult {
  /** The XR of the input. */
  composite: CompositeResource;
  /** Everything that templates and functions desire, unchanged. Must not be applied after a fatal result. */
  desired: Desired;
  /** The resources to apply, with name, labels and owner set, sorted by entry name. Empty after a fatal result. */
  composed: ComposedResource[];
  /** The names of the entries whose resources must be deleted, sorted. Empty after a fatal result. */
  deleted: string[];
  /**
   * The names of the entries that are not ready, sorted: composed resources, and templates that failed and that no
   * function repaired. The XR is ready if there are none. Empty after a fatal result.
   */
  unready: string[];
  /** The connection details that the XR publishes. Empty after a fatal result. */
  connectionDetails: ConnectionDetails;
  /** The results of all steps in order. The pipeline's warnings about a step follow the step's own results. */
  results: StepResult[];
  /** The result that ended the run. Later functions did not run, and nothing must be applied or deleted. */
  fatal?: StepResult;
  /**
   * Evaluates the same desired state against newer observed resources, for example after an apply, without running
   * functions again. Absent after a fatal result.
   */
  reevaluate?: (observed: readonly ObservedResource[]) => Evaluation;
}

/** Readiness and connection details of observed composed resources. */
export interface Evaluation {
  /** See {@link PipelineResult.unready}. */
  unready: string[];
  /** See {@link PipelineResult.connectionDetails}. */
  connectionDetails: ConnectionDetails;
  warnings: string[];
}

/**
 * Runs a Composition for one XR: its templates (patch and transform), then its functions, in order. Together they
 * accumulate one desired state (Crossplane design document "Composition Functions", Function API).
 *
 * Every function reads the same observed state. The first fatal result ends the run. Desired resources get their
 * identity at the end; see {@link ComposedResource}. Without functions the templates are complete: the run deletes
 * resources that no template names. With functions, `undesiredResources` decides. The input is not modified.
 *
 * @throws {PipelineError}
 */
export async function runPipeline(input: PipelineInput): Promise<PipelineResult> {
  const { composition } = input;
  const composite = asComposite(input.composite);
  if (!isCompatible(composition, composite)) throw mismatch(composition, composite);
  if (composition.spec.mode === "Pipeline") throw pipelineMode(composition);
  const observed = observedState(input, composite);
  const results: StepResult[] = [];
  const report = (result: StepResult, own: boolean): void => {
    results.push(result);
    if (own) input.onWarning?.(result);
  };
  const templates = runTemplates(input, composite, report);
  const { desired, fatal } = await runFunctions(input, composite, observed, templates.desired, report);
  if (fatal !== undefined) {
    const nothing = { composed: [], deleted: [], unready: [], connectionDetails: new ConnectionDetails() };
    return { composite, desired, results, fatal, ...nothing };
  }
  const { functions, undesiredResources } = composition.spec;
  const extras = templateExtras(composition);
  const evaluate = (resources: readonly ObservedResource[]): ReturnType<typeof compose> =>
    compose({
      composite,
      desired,
      observed: resources,
      templates: extras,
      failed: templates.failed,
      deleteUndesired: functions.length === 0 || undesiredResources === "Delete",
    });
  const { warnings, ...composed } = evaluate(observed.resources ?? []);
  for (const message of warnings) report({ severity: "Warning", message }, true);
  return { composite, desired, results, ...composed, reevaluate: evaluate };
}

function observedState(input: PipelineInput, composite: CompositeResource): Observed {
  const { connectionDetails, observed } = input;
  return {
    composite: { resource: composite, ...(connectionDetails?.length && { connectionDetails: [...connectionDetails] }) },
    resources: [...(observed ?? [])],
  };
}

function titleOf({ metadata }: Composition): string {
  return metadata.name === undefined ? "the Composition" : `the Composition ${metadata.name}`;
}

function pipelineMode(composition: Composition): PipelineError {
  return new PipelineError(
    "Unsupported",
    `${titleOf(composition)} has mode: Pipeline, which is not supported yet; write its steps as spec.functions and its ` +
      "templates as spec.resources",
  );
}

// Users render claims by mistake: they look like their composite resources, but for kind and namespace.
function claimHint({ metadata, kind }: CompositeResource): string {
  return metadata.namespace === undefined
    ? ""
    : `. If ${String(kind)} is a claim, render its composite resource: the same spec, that kind, no namespace`;
}

function mismatch(composition: Composition, composite: CompositeResource): PipelineError {
  const { apiVersion, kind } = composition.spec.compositeTypeRef;
  return new PipelineError(
    "CompositionMismatch",
    `${titleOf(composition)} composes ${kind} of ${apiVersion} (spec.compositeTypeRef), but the composite resource is ${describe(composite)} ` +
      `of ${composite.apiVersion}; both must be the same${claimHint(composite)}`,
  );
}
