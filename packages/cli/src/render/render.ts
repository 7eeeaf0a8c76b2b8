import type { Composition, PullPolicy } from "@xfn/composition";
import { ExitCode } from "../errors/cli-error.ts";
import { type ClosableRunner, LateRunner } from "../runner/lazy-runner.ts";
import type { RemoteRunnerFlags } from "../runner/remote-runner.ts";
import type { RunnerFlags } from "../runner/with-runner.ts";
import { interruptible } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";
import { warning } from "../terminal/warning.ts";
import { mentionsFunctions } from "./mentions-functions.ts";
import type { TraceOptions } from "./with-trace.ts";

/** Arguments and flags of `xfn render`, as the declaration parsed them. */
export interface RenderOptions extends RunnerFlags, RemoteRunnerFlags, TraceOptions {
  readonly observedResources?: string;
  readonly includeFunctionResults?: boolean;
  readonly includeFullXr?: boolean;
  readonly functionAnnotations?: readonly string[];
  readonly pull?: PullPolicy;
  /** A file or folder with the XR's definition. */
  readonly xrd?: string;
  /** Files or folders of EnvironmentConfigs. */
  readonly environment?: readonly string[];
  /** Milliseconds for the whole run. */
  readonly timeout: number;
}

/** The files of `xfn render`. `-` is stdin, for one of them. */
export interface RenderFiles {
  readonly xr: string;
  readonly composition: string;
  readonly functions?: string;
}

/**
 * `xfn render`: what a Composition makes of an XR, its functions in real containers. After a fatal result the XR is printed
 * with the condition that says so, without composed resources, since none would be applied; the results with `-r`, as
 * ever. When the run fails, or the input is wrong, nothing is printed.
 */
export async function runRender(files: RenderFiles, options: RenderOptions, output: Output): Promise<number> {
  return interruptible(async (interrupt) => {
    let composition: Composition | undefined;
    const open = async (): Promise<ClosableRunner> =>
      composition === undefined || options.runner === undefined
        ? (await import("../runner/with-runner.ts")).openRunner(options, output)
        : (await import("../runner/remote-runner.ts")).openRemoteRunner(options, composition);
    const rendered = await withLateRunner(open, output, async (runner) => {
      // Namespaces are made, by another process, while code is loaded and files are read.
      if (options.runner === undefined && mentionsFunctions(files.composition)) await runner.prepare();
      const [{ readInputs }, { renderInTime }, { withTrace }] = await Promise.all([
        import("./render-inputs.ts"),
        import("./render-with-timeout.ts"),
        import("./with-trace.ts"),
      ]);
      const inputs = await readInputs(files, options, (message) => output.note(warning(message)));
      composition = inputs.composition;
      if (composition.spec.functions.length > 0) await runner.ready();
      return withTrace(inputs, options, output, (onRecord) =>
        renderInTime(onRecord === undefined ? inputs : { ...inputs, onRecord }, options, runner, interrupt),
      );
    });
    for (const note of rendered.notes) output.note(note);
    await output.product(rendered.product);
    return rendered.isFatal ? ExitCode.failed : ExitCode.ok;
  });
}

async function withLateRunner<T>(
  open: () => Promise<ClosableRunner>,
  output: Output,
  work: (runner: LateRunner) => Promise<T>,
): Promise<T> {
  const runner = new LateRunner(open);
  try {
    return await work(runner);
  } catch (error) {
    throw runner.isOpen ? await explained(error) : error;
  } finally {
    await runner.close();
    output.status(undefined);
  }
}

async function explained(error: unknown): Promise<unknown> {
  const { explainImageError } = await import("../store/explain-image-error.ts");
  return explainImageError(error);
}
