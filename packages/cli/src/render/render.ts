import { ExitCode } from "@xfn/program/exit-code";
import { CallProgress } from "../runner/call-progress.ts";
import { type ClosableRunner, LazyRunner } from "../runner/lazy-runner.ts";
import type { RemoteRunnerFlags } from "../runner/remote-runner.ts";
import type { RunnerFlags } from "../runner/with-runner.ts";
import { withElapsedTime } from "../terminal/elapsed-time.ts";
import { endedByCtrlC } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";
import { warning } from "../terminal/warning.ts";
import { inputPaths, refuseSecondStdin } from "./input-paths.ts";
import { needsContainers } from "./mentions-functions.ts";
import type { EndpointTools } from "./open-endpoints.ts";
import type { RenderCalls, RenderInputs } from "./render-inputs.ts";
import type { RenderFiles, RenderOptions } from "./render-options.ts";
import type { Endpoints, Rendered } from "./run-plan.ts";
import type { ResolvedImages } from "./step-images.ts";

/**
 * `xfn render`: runs a Composition on an XR, its functions in real containers. After a fatal result it prints the XR
 * with the condition that reports it, and no composed resources, since none would be applied. If the run fails or the
 * input is wrong, it prints nothing.
 */
export async function runRender(files: RenderFiles, options: RenderOptions, output: Output): Promise<number> {
  const { watch = false } = options;
  const paths = inputPaths(files, options);
  if (!watch) refuseSecondStdin(paths);
  return await endedByCtrlC(watch, async (interrupt) => {
    const render = (onFolder: (folder: string) => void): Promise<Rendered> =>
      renderOnce(files, options, output, { interrupt, onFolder });
    if (watch) return await (await import("./watch-render.ts")).watchRender(paths, output, render, interrupt);
    const { notes, product, isFatal } = await render(() => undefined);
    for (const note of notes) output.note(note);
    await output.product(product);
    return isFatal ? ExitCode.failed : ExitCode.ok;
  });
}

interface Run {
  readonly interrupt: AbortSignal;
  /** Called with each function's folder before its build. */
  readonly onFolder: (folder: string) => void;
}

async function renderOnce(files: RenderFiles, options: RenderOptions, terminal: Output, run: Run): Promise<Rendered> {
  const { replay } = options;
  const { interrupt } = run;
  return await withFunctions<RenderInputs>(options, terminal, {
    ...run,
    startsContainers: replay === undefined && options.runner === undefined && needsContainers(files),
    read: async (calls) => (await import("./render-inputs.ts")).readInputs(files, options, calls),
    open: async (inputs, tools) =>
      replay === undefined
        ? await (await import("./open-endpoints.ts")).openEndpoints(inputs, options, tools)
        : (await import("./replay-endpoints.ts")).replayEndpoints(replay, inputs, options, tools.progress),
    run: async (inputs, endpoints, output) =>
      await (await import("./run-plan.ts")).runPlan({ inputs, endpoints, options, output, interrupt }),
  });
}

/** The flags that choose what runs functions. */
export type FunctionsOptions = RunnerFlags & RemoteRunnerFlags & Pick<RenderOptions, "replay">;

/** A run of functions, by its steps. */
export interface FunctionsRun<Inputs extends ResolvedImages> extends Run {
  /** Whether it probably starts containers, so that the machine can prepare while files are read. */
  readonly startsContainers: boolean;
  read(calls: RenderCalls): Promise<Inputs>;
  open(inputs: Inputs, tools: EndpointTools): Promise<Endpoints>;
  run(inputs: Inputs, endpoints: Endpoints, output: Output): Promise<Rendered>;
}

/** Reads files, opens the functions that their steps call, renders, and closes what it opened. */
export async function withFunctions<Inputs extends ResolvedImages>(
  options: FunctionsOptions,
  terminal: Output,
  { interrupt, onFolder, startsContainers, ...steps }: FunctionsRun<Inputs>,
): Promise<Rendered> {
  const progress = new CallProgress();
  return await withElapsedTime(terminal, progress.title, async (output) => {
    let inputs: Inputs | undefined;
    const open = async (): Promise<ClosableRunner> =>
      inputs === undefined || options.runner === undefined
        ? (await import("../runner/with-runner.ts")).openRunner(options, output)
        : (await import("../runner/remote-runner.ts")).openRemoteRunner(options, inputs.composition);
    const runner = new LazyRunner(open, options.maxOutput);
    await using closing = new AsyncDisposableStack();
    closing.defer(() => runner.close());
    try {
      // Another process makes the namespaces while this one loads code and reads files.
      if (startsContainers) await runner.prepare();
      const build = async (folder: string): Promise<string> => {
        onFolder(folder);
        // Loaded on demand: most steps name images.
        const { buildFolderImage } = await import("../build/folder-image.ts");
        return await buildFolderImage(folder, { cacheDir: options.cacheDir, output, signal: interrupt });
      };
      inputs = await steps.read({
        onWarning: (message) => output.note(warning(message)),
        build: options.replay === undefined ? build : undefined,
      });
      const endpoints = await steps.open(inputs, { runner, progress, signal: interrupt, closing });
      return await steps.run(inputs, endpoints, output);
    } catch (error) {
      throw runner.isOpen ? await explained(error) : error;
    }
  });
}

async function explained(error: unknown): Promise<unknown> {
  const { explainImageError } = await import("../store/explain-image-error.ts");
  return explainImageError(error);
}
