import type { Composition } from "@xfn/composition";
import { ExitCode } from "@xfn/program/exit-code";
import { type ClosableRunner, LazyRunner } from "../runner/lazy-runner.ts";
import { interruptible } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";
import { warning } from "../terminal/warning.ts";
import { mentionsFunctions } from "./mentions-functions.ts";
import type { RenderFiles, RenderOptions } from "./render-options.ts";

/**
 * `xfn render`: runs a Composition on an XR, its functions in real containers. After a fatal result it prints the XR
 * with the condition that reports it, and no composed resources, since none would be applied. If the run fails or the
 * input is wrong, it prints nothing.
 */
export async function runRender(files: RenderFiles, options: RenderOptions, output: Output): Promise<number> {
  return interruptible(async (interrupt) => {
    let composition: Composition | undefined;
    const open = async (): Promise<ClosableRunner> =>
      composition === undefined || options.runner === undefined
        ? (await import("../runner/with-runner.ts")).openRunner(options, output)
        : (await import("../runner/remote-runner.ts")).openRemoteRunner(options, composition);
    const rendered = await withLazyRunner(open, output, async (runner) => {
      // Another process makes the namespaces while this one loads code and reads files.
      if (options.runner === undefined && mentionsFunctions(files.composition)) await runner.prepare();
      const [{ readInputs }, { renderWithTimeout }, { withTrace }] = await Promise.all([
        import("./render-inputs.ts"),
        import("./render-with-timeout.ts"),
        import("./with-trace.ts"),
      ]);
      const inputs = await readInputs(files, options, (message) => output.note(warning(message)));
      composition = inputs.composition;
      if (composition.spec.functions.length > 0) await runner.ready();
      return withTrace(inputs, options, output, (onRecord) =>
        renderWithTimeout(onRecord === undefined ? inputs : { ...inputs, onRecord }, options, runner, interrupt),
      );
    });
    for (const note of rendered.notes) output.note(note);
    await output.product(rendered.product);
    return rendered.isFatal ? ExitCode.failed : ExitCode.ok;
  });
}

async function withLazyRunner<T>(
  open: () => Promise<ClosableRunner>,
  output: Output,
  work: (runner: LazyRunner) => Promise<T>,
): Promise<T> {
  const runner = new LazyRunner(open);
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
