import { packageStepsOf } from "@xfn/composition";
import { printRender } from "@xfn/pipeline";
import { renderOperation } from "@xfn/pipeline/operation";
import { ExitCode } from "@xfn/program/exit-code";
import { inputPaths, refuseSecondStdin } from "../render/input-paths.ts";
import { needsContainers } from "../render/mentions-functions.ts";
import { withFunctions } from "../render/render.ts";
import { type Endpoints, inTime, notesOn, type Rendered } from "../render/run-plan.ts";
import { endedByCtrlC } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";
import type { OperationInputs } from "./operation-file.ts";
import type { OperationFiles, OperationOptions } from "./operation-options.ts";

/**
 * `xfn operation render`: runs the functions of an Operation, and prints its status and the objects that it would
 * apply. After a fatal result it prints the Operation alone. If the run fails or the input is wrong, it prints nothing.
 */
export async function runOperationRender(
  files: OperationFiles,
  options: OperationOptions,
  output: Output,
): Promise<number> {
  const { operation, functions } = files;
  refuseSecondStdin([
    ...inputPaths({ operation, functions }, options),
    ...(options.watchedResource === undefined ? [] : [{ name: "--watched-resource", path: options.watchedResource }]),
  ]);
  return await endedByCtrlC(false, async (interrupt) => {
    const { notes, product, isFatal } = await withFunctions<OperationInputs>(options, output, {
      interrupt,
      onFolder: () => undefined,
      startsContainers: options.runner === undefined && needsContainers({ composition: operation, functions }),
      read: async (calls) => (await import("./operation-file.ts")).readOperationInputs(files, options, calls),
      open: async (inputs, tools) =>
        await (await import("../render/open-endpoints.ts")).openEndpoints(inputs, options, tools),
      run: async (inputs, endpoints) => await render(inputs, endpoints, options, interrupt),
    });
    for (const note of notes) output.note(note);
    await output.product(product);
    return isFatal ? ExitCode.failed : ExitCode.ok;
  });
}

async function render(
  inputs: OperationInputs,
  { begin, callers: { functions, runner }, stderrOf }: Endpoints,
  options: OperationOptions,
  interrupt: AbortSignal,
): Promise<Rendered> {
  const { includeFunctionResults = false, includeContext = false, includeFullOperation = false } = options;
  return await inTime(inputs, options.timeout, interrupt, async (signal) => {
    const result = await renderOperation(inputs.operation, {
      ...inputs.pipeline,
      ...(functions && { functions }),
      runner,
      steps: packageStepsOf(inputs.composition),
      signal,
      onStep: begin,
    });
    const { output: format = "yaml" } = options;
    const parts = { includeFunctionResults, includeContext, includeFullXR: includeFullOperation, format };
    const isFatal = result.fatal !== undefined;
    return { product: printRender(result, parts), notes: notesOn(result, stderrOf, inputs), isFatal };
  });
}
