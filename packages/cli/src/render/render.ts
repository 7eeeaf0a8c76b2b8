import { type Composition, stepsOf, traitsOf } from "@xfn/composition";
import type { ClosableWebhookCaller } from "@xfn/pipeline/webhook";
import { ExitCode } from "@xfn/program/exit-code";
import { CallProgress } from "../runner/call-progress.ts";
import { type ClosableRunner, LazyRunner } from "../runner/lazy-runner.ts";
import { withElapsedTime } from "../terminal/elapsed-time.ts";
import { InterruptedError, interruptible } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";
import { warning } from "../terminal/warning.ts";
import type { BuiltSources } from "./folder-steps.ts";
import type { FunctionConnections } from "./function-connections.ts";
import { mentionsFunctions, mentionsOnlyRunning } from "./mentions-functions.ts";
import type { RenderInputs } from "./render-inputs.ts";
import type { RenderFiles, RenderOptions } from "./render-options.ts";
import type { Rendered } from "./render-with-timeout.ts";

/**
 * `xfn render`: runs a Composition on an XR, its functions in real containers. After a fatal result it prints the XR
 * with the condition that reports it, and no composed resources, since none would be applied. If the run fails or the
 * input is wrong, it prints nothing.
 */
export async function runRender(files: RenderFiles, options: RenderOptions, output: Output): Promise<number> {
  if (options.watch === true) return untilInterrupted(files, options, output);
  return interruptible(async (interrupt) => {
    const rendered = await renderOnce(files, options, output, { interrupt, onFolder: () => undefined });
    for (const note of rendered.notes) output.note(note);
    await output.product(rendered.product);
    return rendered.isFatal ? ExitCode.failed : ExitCode.ok;
  });
}

async function untilInterrupted(files: RenderFiles, options: RenderOptions, output: Output): Promise<number> {
  const { watchRender } = await import("./watch-render.ts");
  try {
    return await interruptible((interrupt) =>
      watchRender(
        files,
        options,
        output,
        (onFolder) => renderOnce(files, options, output, { interrupt, onFolder }),
        interrupt,
      ),
    );
  } catch (error) {
    // Ctrl-C is the usual way to end the command.
    if (error instanceof InterruptedError && error.signalName === "SIGINT") return ExitCode.ok;
    throw error;
  }
}

/** What {@link renderOnce} needs besides the command line. */
interface Run {
  readonly interrupt: AbortSignal;
  /** Called with each function's folder that is built. */
  readonly onFolder: (folder: string) => void;
}

async function renderOnce(files: RenderFiles, options: RenderOptions, terminal: Output, run: Run): Promise<Rendered> {
  const { interrupt, onFolder } = run;
  const { replay } = options;
  if (replay !== undefined) {
    const { replayRender } = await import("./replay-render.ts");
    return await replayRender(files, { ...options, replay }, terminal, interrupt);
  }
  const progress = new CallProgress();
  let composition: Composition | undefined;
  return withElapsedTime(terminal, progress.title, (output) => {
    const open = async (): Promise<ClosableRunner> =>
      composition === undefined || options.runner === undefined
        ? (await import("../runner/with-runner.ts")).openRunner(options, output)
        : (await import("../runner/remote-runner.ts")).openRemoteRunner(options, composition);
    return withLazyRunner(new LazyRunner(open, options.maxOutput), async (runner) => {
      // Another process makes the namespaces while this one loads code and reads files.
      if (options.runner === undefined && needsContainers(files)) await runner.prepare();
      const [{ readInputs }, { renderWithTimeout }, { withTrace }, { withRecording }] = await Promise.all([
        import("./render-inputs.ts"),
        import("./render-with-timeout.ts"),
        import("./with-trace.ts"),
        import("../runner/with-recording.ts"),
      ]);
      const read = await readInputs(files, options, (message) => output.note(warning(message)));
      composition = read.composition;
      const callers = stepsOf(composition).map((step) => traitsOf(step).caller);
      let built: BuiltSources = { ...read, built: new Set() };
      if (callers.length > 0) {
        const { buildFolderSteps } = await import("./folder-steps.ts");
        built = await buildFolderSteps(read, options, { output, signal: interrupt, onFolder });
        composition = built.composition;
      }
      if (callers.includes("runner")) await runner.ready();
      const inputs = { ...read, composition };
      const observed = progress.observe(runner);
      const connections = await connectionsOf(inputs, built, options, runner, interrupt);
      const webhooks = callers.includes("webhooks") ? await webhookCaller(options) : undefined;
      try {
        const functionCallers = {
          runner: observed,
          ...(webhooks && { webhooks }),
          ...(connections && { functions: connections }),
        };
        return await withRecording(
          inputs,
          options,
          output,
          functionCallers,
          ({ runner: recorded, webhooks: hooks, functions }) =>
            withTrace(inputs, options, output, (onRecord) =>
              renderWithTimeout(
                {
                  ...inputs,
                  ...(onRecord && { onRecord }),
                  onStep: (step) => {
                    progress.begin(step);
                    connections?.begin(step.name);
                  },
                  connections: functions && {
                    connect: async (step) => await functions.connect(step),
                    stderrOf: (step) => connections?.stderrOf(step),
                  },
                  webhooks: hooks,
                },
                options,
                recorded,
                interrupt,
              ),
            ),
        );
      } finally {
        connections?.close();
        webhooks?.close();
      }
    });
  });
}

/** A guess. Where it is wrong, containers are prepared in vain, or later. */
function needsContainers({ composition, functions }: RenderFiles): boolean {
  return mentionsFunctions(composition) && !(functions !== undefined && mentionsOnlyRunning(functions));
}

// Loaded on demand: most Compositions need no gRPC.
async function connectionsOf(
  { pipeline }: RenderInputs,
  { functions, built }: BuiltSources,
  { pull, freshFunctions: fresh = false }: RenderOptions,
  runner: LazyRunner,
  signal: AbortSignal,
): Promise<FunctionConnections | undefined> {
  if (pipeline === undefined) return undefined;
  const { FunctionConnections } = await import("./function-connections.ts");
  return new FunctionConnections({ functions, built, pull, fresh, signal, host: () => runner.host() });
}

async function webhookCaller({ maxOutput }: RenderOptions): Promise<ClosableWebhookCaller> {
  const { createWebhookCaller } = await import("@xfn/pipeline/webhook");
  return createWebhookCaller({ maxOutputBytes: maxOutput });
}

async function withLazyRunner<T>(runner: LazyRunner, work: (runner: LazyRunner) => Promise<T>): Promise<T> {
  try {
    return await work(runner);
  } catch (error) {
    throw runner.isOpen ? await explained(error) : error;
  } finally {
    await runner.close();
  }
}

async function explained(error: unknown): Promise<unknown> {
  const { explainImageError } = await import("../store/explain-image-error.ts");
  return explainImageError(error);
}
