import { type Composition, type CompositionFunction, ConnectionDetails, isCompatible } from "@xfn/composition";
import type {
  Desired,
  ExplicitConnectionDetail,
  JsonObject,
  KubernetesObject,
  Observed,
  ObservedResource,
  Severity,
} from "@xfn/functionio";
import type { FunctionRunner, RegistryAuth, RunPhase } from "@xfn/runner-contract";
import { type ComposedResource, compose } from "../compose/compose.ts";
import { asComposite, type CompositeResource, describe } from "../observed/observed-entries.ts";
import { PipelineError } from "../outcome/pipeline-error.ts";
import type { StepRecord } from "../outcome/step-record.ts";
import { runFunctions } from "./run-functions.ts";
import { runTemplates, templateExtras } from "./run-templates.ts";

/** What a run is given. */
export interface PipelineInput {
  /** The XR, as it was observed. */
  composite: KubernetesObject;
  /** The XR's own connection details, as they were observed. */
  connectionDetails?: readonly ExplicitConnectionDetail[];
  composition: Composition;
  /** The composed resources that exist, under the names of their entries. */
  observed?: readonly ObservedResource[];
  /** The data that templates read and write beside the XR. Absent: patches from and to the environment do nothing. */
  environment?: JsonObject;
  /** Not used by a Composition without functions. */
  runner: FunctionRunner;
  /** Ends the run: the step that is running is ended, and no other is started. */
  signal?: AbortSignal;
  /** Credentials for a step's image, for those who can read its `imagePullSecrets`. */
  auth?: (step: CompositionFunction) => Promise<RegistryAuth | undefined>;
  /** Told of each step before it starts. */
  onStep?: (step: CompositionFunction, index: number) => void;
  /** Told how long each phase of a step took, in milliseconds. */
  onPhase?: (step: string, phase: RunPhase, ms: number) => void;
  /** Told of what the pipeline itself finds suspicious, as soon as it does. These are among the results as well. */
  onWarning?: (warning: StepResult) => void;
  /** Told of each step after it has ended, the one that failed included: what a trace is made of. Without it nothing is measured. */
  onRecord?: (record: StepRecord) => void;
}

/** Something that a step, or the pipeline about a step, has to say. */
export interface StepResult {
  severity: Severity;
  message: string;
  /** The step that said it. Absent: it is about templates, or about the run as a whole. */
  step?: string;
  /** A word for programs, where the function gave one. */
  reason?: string;
}

/** What came of a run. */
export interface PipelineResult {
  /** The XR as it was given. */
  composite: CompositeResource;
  /** Everything that templates and functions desire, as they wrote it. After a fatal result: nothing of it may be applied. */
  desired: Desired;
  /** What is to be applied, with name, labels and owner set; sorted by entry name. Empty after a fatal result. */
  composed: ComposedResource[];
  /** The names of the entries whose resources are to be deleted, sorted. Empty after a fatal result. */
  deleted: string[];
  /**
   * The names of the entries that are not ready, sorted: composed resources, and templates that could not be rendered
   * and that no function repaired. The XR is ready if there are none. Empty after a fatal result.
   */
  unready: string[];
  /** What the XR is to publish. Empty after a fatal result. */
  connectionDetails: ConnectionDetails;
  /** The results of all steps in order, with the pipeline's own warnings after those of the step that they are about. */
  results: StepResult[];
  /** The result that ended the run. Later functions did not run, and nothing may be applied or deleted. */
  fatal?: StepResult;
  /**
   * What the same desired state says of composed resources as they are by now, such as after they were applied: functions
   * are not run again. Absent after a fatal result.
   */
  judge?: (observed: readonly ObservedResource[]) => Judgement;
}

/** What is to be said of composed resources as they were observed. */
export interface Judgement {
  /** See {@link PipelineResult.unready}. */
  unready: string[];
  /** See {@link PipelineResult.connectionDetails}. */
  connectionDetails: ConnectionDetails;
  warnings: string[];
}

/**
 * Runs a Composition for one XR: its templates (seed 004, patch-and-transform), then its functions, in order, on one
 * desired state that they accumulate (seed 000, "Function API").
 *
 * Every function is given the same observed state. The first fatal result ends the run. What is desired is given its
 * identity at the end; see {@link ComposedResource}. Without functions the templates are a complete statement: what they
 * no longer name is deleted. With functions, `undesiredResources` decides. Nothing of the input is changed.
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
  const judge = (resources: readonly ObservedResource[]): ReturnType<typeof compose> =>
    compose({
      composite,
      desired,
      observed: resources,
      templates: extras,
      failed: templates.failed,
      deleteUndesired: functions.length === 0 || undesiredResources === "Delete",
    });
  const { warnings, ...composed } = judge(observed.resources ?? []);
  for (const message of warnings) report({ severity: "Warning", message }, true);
  return { composite, desired, results, ...composed, judge };
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
    `${titleOf(composition)} has mode: Pipeline, which cannot be run yet; give its steps as spec.functions, and its ` +
      "templates as spec.resources",
  );
}

function mismatch(composition: Composition, composite: CompositeResource): PipelineError {
  const { apiVersion, kind } = composition.spec.compositeTypeRef;
  return new PipelineError(
    "CompositionMismatch",
    `${titleOf(composition)} composes ${kind} of ${apiVersion} (spec.compositeTypeRef), but the composite resource is ${describe(composite)} ` +
      `of ${composite.apiVersion}; both must be the same`,
  );
}
