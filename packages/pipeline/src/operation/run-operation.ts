import type { PackageStep } from "@xfn/composition";
import { traitsOf } from "@xfn/composition";
import type { ResourceState } from "@xfn/function-grpc";
import type { Severity } from "@xfn/functionio";
import type { JsonObject } from "@xfn/json";
import type { StepResult } from "../outcome/step-result.ts";
import { callPackage, connectPackage, type PackageInput, reportRounded, resultsOf } from "../steps/call-package.ts";
import type { PipelineInput } from "../steps/pipeline-input.ts";

/** The input of a run of an Operation. */
export interface OperationInput extends PackageInput, Pick<PipelineInput, "context" | "inStep" | "onStep"> {
  readonly steps: readonly PackageStep[];
}

/** The output of a step for the status of its Operation. */
export interface StepOutput {
  readonly step: string;
  readonly output: JsonObject;
}

/** The outcome of a run of an Operation. */
export interface OperationResult {
  /** The objects that the last step desires, by entry name. Must not be applied after a fatal result. */
  readonly desired: ReadonlyMap<string, JsonObject>;
  /** The results of all steps, and the pipeline's own warnings about them, in order. */
  readonly results: readonly StepResult[];
  readonly outputs: readonly StepOutput[];
  readonly context: JsonObject | undefined;
  /** The result that ended the run. */
  readonly fatal?: StepResult | undefined;
}

/**
 * Runs the steps of an Operation, in order. They observe nothing: the first step gets an empty desired state, and each
 * response replaces it. A fatal result ends the run.
 *
 * @throws {PipelineError}
 */
export async function runOperation(input: OperationInput): Promise<OperationResult> {
  const { steps, inStep = (_, work) => work(), onStep, signal } = input;
  const connections = await Promise.all(
    steps.map(async (step) => [step, await connectPackage(step, input, signal)] as const),
  );
  let desired: ReadonlyMap<string, ResourceState> = new Map();
  let context: JsonObject | undefined = input.context ?? {};
  let fatal: StepResult | undefined;
  const results: StepResult[] = [];
  const outputs: StepOutput[] = [];
  const rounded = new Set<string>();
  for (const [index, [step, connected]] of connections.entries()) {
    const description = { name: step.name, kind: "function", image: traitsOf(step).target } as const;
    onStep?.(description, index);
    await inStep(description, async (): Promise<Severity> => {
      const request = {
        observed: { resources: NOTHING },
        desired: { resources: desired },
        input: step.input,
        context,
        credentials: connected.credentials,
      };
      const run = await callPackage(step, input, connected, request, signal);
      const { response } = run;
      reportRounded(step.name, run.rounded, rounded, (message) =>
        results.push({ severity: "Warning", message, step: step.name }),
      );
      const reported = resultsOf(step, response);
      results.push(...reported.results);
      ({ fatal } = reported);
      if (fatal !== undefined) return "Fatal";
      desired = response.desired.resources;
      context = response.context;
      if (response.output !== undefined) outputs.push({ step: step.name, output: response.output });
      return reported.results.some(({ severity }) => severity === "Warning") ? "Warning" : "Normal";
    });
    if (fatal !== undefined) break;
  }
  const resources = new Map([...desired].map(([name, { resource }]) => [name, resource]));
  return { desired: resources, results, outputs, context, ...(fatal && { fatal }) };
}

const NOTHING: ReadonlyMap<string, ResourceState> = new Map();
