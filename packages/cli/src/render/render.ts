import { ExitCode } from "@xfn/program/exit-code";
import { CallProgress } from "../runner/call-progress.ts";
import { type ClosableRunner, LazyRunner } from "../runner/lazy-runner.ts";
import { withElapsedTime } from "../terminal/elapsed-time.ts";
import { endedByCtrlC } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";
import { warning } from "../terminal/warning.ts";
import { inputPaths, refuseSecondStdin } from "./input-paths.ts";
import { needsContainers } from "./mentions-functions.ts";
import type { RenderInputs } from "./render-inputs.ts";
import type { RenderFiles, RenderOptions } from "./render-options.ts";
import type { Rendered } from "./run-plan.ts";

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

/** Reads the files, opens the functions that the Composition calls, renders, and closes what it opened. */
async function renderOnce(
  files: RenderFiles,
  options: RenderOptions,
  terminal: Output,
  { interrupt, onFolder }: Run,
): Promise<Rendered> {
  const { replay } = options;
  const startsContainers = replay === undefined && options.runner === undefined && needsContainers(files);
  const progress = new CallProgress();
  return await withElapsedTime(terminal, progress.title, async (output) => {
    let inputs: RenderInputs | undefined;
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
      const [{ readInputs }, { runPlan }] = await Promise.all([import("./render-inputs.ts"), import("./run-plan.ts")]);
      const build = async (folder: string): Promise<string> => {
        onFolder(folder);
        // Loaded on demand: most steps name images.
        const { buildFolderImage } = await import("../build/folder-image.ts");
        return await buildFolderImage(folder, { cacheDir: options.cacheDir, output, signal: interrupt });
      };
      inputs = await readInputs(files, options, {
        onWarning: (message) => output.note(warning(message)),
        build: replay === undefined ? build : undefined,
      });
      const tools = { runner, progress, signal: interrupt, closing };
      const endpoints =
        replay === undefined
          ? await (await import("./open-endpoints.ts")).openEndpoints(inputs, options, tools)
          : (await import("./replay-endpoints.ts")).replayEndpoints(replay, inputs, options, progress);
      return await runPlan({ inputs, endpoints, options, output, interrupt });
    } catch (error) {
      throw runner.isOpen ? await explained(error) : error;
    }
  });
}

async function explained(error: unknown): Promise<unknown> {
  const { explainImageError } = await import("../store/explain-image-error.ts");
  return explainImageError(error);
}
