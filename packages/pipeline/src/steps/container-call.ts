import type { ContainerStep } from "@xfn/composition";
import { DEFAULT_OUTPUT_BYTES, type RunOptions } from "@xfn/runner-contract";
import { cachedOutput } from "../cache/cached-output.ts";
import type { FunctionCall, OutputWords } from "./function-call.ts";
import type { PipelineInput } from "./pipeline-input.ts";

/** The call of a function that is an image: FunctionIO on stdin and stdout. */
export function containerCall(step: ContainerStep, { runner, auth, responses }: PipelineInput): FunctionCall {
  const { image } = step.container;
  return {
    step: step.name,
    image,
    called: `image ${image}`,
    advice: step.type === "Wasm" ? WASM_ADVICE : ADVICE,
    words: WORDS,
    cached: (input) => cachedOutput(step, input, responses),
    maxOutputBytes: runner.maxOutputBytes ?? DEFAULT_OUTPUT_BYTES,
    run: async (input, options) =>
      runner.run(image, input, { ...runOptions(step), ...options, auth: await auth?.(step) }),
  };
}

/** A step's settings as run options. Settings that the author left out get the runner's defaults. */
function runOptions(step: ContainerStep): RunOptions {
  const { timeoutMs, network, imagePullPolicy, resources } = step.container;
  const { memoryBytes, cpus } = resources.limits;
  const type = step.type === "Container" ? undefined : step.type;
  return { step: step.name, network, timeoutMs, memoryBytes, cpus, pullPolicy: imagePullPolicy, ...(type && { type }) };
}

/** How to fix the Composition, by the code of the runner's error. */
const ADVICE: ReadonlyMap<string, string> = new Map([
  ["PullFailed", "check the step's container.image and container.imagePullPolicy"],
  ["LimitUnavailable", "leave out the step's container.resources.limits, or run where they can be enforced"],
  ["Timeout", "raise the step's container.timeout (default 10s) if it needs longer"],
  ["ChrootUnavailable", "use type: Container, or a runner on which type: Chroot is allowed and possible"],
  ["OutOfMemory", "raise the step's container.resources.limits.memory if it needs more"],
]);

/** The same advice for the fields of a module. */
const WASM_ADVICE: ReadonlyMap<string, string> = new Map(
  [...ADVICE].map(([code, advice]) => [code, advice.replaceAll("container.", "wasm.")]),
);

const WORDS: OutputWords = {
  empty: "it wrote nothing to stdout",
  several: "it wrote more than one document to stdout",
  output: "its output on stdout",
  hint: "log messages belong on stderr",
};
