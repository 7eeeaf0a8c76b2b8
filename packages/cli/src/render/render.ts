import type { PullPolicy } from "@xfn/composition";
import type { JsonObject } from "@xfn/functionio";
import {
  type FunctionRunner,
  PipelineError,
  type PipelineErrorCode,
  printRender,
  type RenderResult,
  render,
  type StepResult,
} from "@xfn/pipeline";
import { CliError, ExitCode, inputError, usageError } from "../errors.ts";
import { readComposition } from "../input/composition-file.ts";
import { documentsOfAll, singleObject } from "../input/documents.ts";
import { STDIN } from "../input/read-input.ts";
import { interruptible } from "../interrupt.ts";
import { colours } from "../terminal/colours.ts";
import { oneLine } from "../terminal/escape.ts";
import { functionStderr } from "../terminal/function-stderr.ts";
import type { Output } from "../terminal/output.ts";
import { type RunnerFlags, warning, withRunner } from "../with-runner.ts";
import { overrideSteps, readFunctions } from "./functions-file.ts";

/** Arguments and flags of `xfn render`, as the declaration parsed them. */
export interface RenderOptions extends RunnerFlags {
  readonly observedResources?: string;
  readonly includeFunctionResults?: boolean;
  readonly includeFullXr?: boolean;
  readonly functionAnnotations?: readonly string[];
  readonly pull?: PullPolicy;
  /** Milliseconds for the whole run. */
  readonly timeout: number;
}

/** The files of `xfn render`. `-` is stdin, for one of them. */
export interface RenderFiles {
  readonly xr: string;
  readonly composition: string;
  readonly functions?: string;
}

/** `xfn render`: what a Composition makes of an XR, through real containers. Nothing is printed unless all went well. */
export async function runRender(files: RenderFiles, options: RenderOptions, output: Output): Promise<number> {
  return interruptible(async (interrupt) => {
    const inputs = await readInputs(files, options, output);
    const stderr = new Map<string, string>();
    const result = await renderInTime({ inputs, options, interrupt, output, stderr });
    const { includeFunctionResults = false, includeFullXr = false } = options;
    for (const line of reportLines(result, stderr)) output.note(line);
    await output.product(printRender(result, { includeFunctionResults, includeFullXR: includeFullXr }));
    return result.fatal === undefined ? ExitCode.ok : ExitCode.failed;
  });
}

interface Inputs {
  readonly composite: JsonObject;
  readonly composition: Awaited<ReturnType<typeof readComposition>>;
  readonly observed: readonly JsonObject[];
}

async function readInputs(files: RenderFiles, options: RenderOptions, output: Output): Promise<Inputs> {
  const paths = [files.xr, files.composition, files.functions, options.observedResources];
  if (paths.filter((path) => path === STDIN).length > 1) throw usageError("only one of the files can be stdin (-)");
  const annotations = options.functionAnnotations ?? [];
  if (annotations.length > 0 && files.functions === undefined) {
    throw usageError("-a puts annotations on the Functions of FUNCTIONS, which is not given");
  }
  const note = (message: string): void => output.note(warning(message));
  const composite = await singleObject(files.xr, "the composite resource");
  const composition = await readComposition(files.composition, note);
  const overrides = files.functions === undefined ? [] : await readFunctions(files.functions, annotations);
  const observed = options.observedResources === undefined ? [] : await documentsOfAll(options.observedResources);
  const functions = overrideSteps(composition.spec.functions, overrides, options.pull, (name) =>
    note(`the Function ${name} has no step of its name in the Composition, and is not used`),
  );
  return {
    composite,
    composition: { ...composition, spec: { ...composition.spec, functions } },
    // What is no object is refused by the pipeline, which says which it is.
    observed: observed.map(({ value }) => value as JsonObject),
  };
}

interface Rendering {
  readonly inputs: Inputs;
  readonly options: RenderOptions;
  readonly interrupt: AbortSignal;
  readonly output: Output;
  /** Takes the end of what each step wrote to stderr. */
  readonly stderr: Map<string, string>;
}

async function renderInTime({ inputs, options, interrupt, output, stderr }: Rendering): Promise<RenderResult> {
  const timeout = AbortSignal.timeout(options.timeout);
  const signal = AbortSignal.any([interrupt, timeout]);
  try {
    return await withRunner(options, output, (runner) =>
      render({ ...inputs, runner: listening(runner, stderr), signal }),
    );
  } catch (error) {
    if (timeout.aborted && !interrupt.aborted) {
      const step = error instanceof PipelineError && error.step !== undefined ? ` in step "${error.step}"` : "";
      throw new CliError(
        "Failed",
        `the run did not end within ${options.timeout / 1000} s (--timeout) and was stopped${step}`,
        { cause: error },
      );
    }
    if (error instanceof PipelineError && WRONG_INPUT.includes(error.code)) throw inputError(error.message, [], error);
    throw error;
  }
}

// A function that ends in a fatal result has done well as a program, so that its stderr is in no error.
function listening(runner: FunctionRunner, stderr: Map<string, string>): FunctionRunner {
  return {
    run: (image, input, options = {}) => {
      const onStderr = (tail: string): void => {
        stderr.set(options.step ?? "", tail);
        options.onStderr?.(tail);
      };
      return runner.run(image, input, { ...options, onStderr });
    },
  };
}

const WRONG_INPUT: readonly PipelineErrorCode[] = ["InvalidComposite", "InvalidObserved", "CompositionMismatch"];

/** What a person should see even when only documents are asked for. */
function reportLines({ results, deleted, fatal }: RenderResult, stderr: ReadonlyMap<string, string>): string[] {
  const paint = colours(process.stderr);
  const line = ({ severity, step, message }: StepResult): string => {
    const title = severity === "Fatal" ? paint.red("fatal") : paint.yellow("warning");
    return `xfn: ${title}: ${step === undefined ? "" : `step "${oneLine(step, 100)}": `}${oneLine(message)}`;
  };
  const lines = results.filter(({ severity }) => severity !== "Normal").map(line);
  if (fatal?.step !== undefined) lines.push(...functionStderr(stderr.get(fatal.step) ?? ""));
  if (deleted.length > 0) lines.push(`xfn: would be deleted: ${deleted.map((name) => oneLine(name, 100)).join(", ")}`);
  return lines;
}
