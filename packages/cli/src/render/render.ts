import type { PullPolicy } from "@xfn/composition";
import { ExitCode } from "../errors.ts";
import { interruptible } from "../interrupt.ts";
import type { Output } from "../terminal/output.ts";
import { type RunnerFlags, warning, withRunner } from "../with-runner.ts";

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

/**
 * `xfn render`: what a Composition makes of an XR, through real containers. After a fatal result the XR is printed with the
 * condition that says so, without composed resources, since none would be applied; the results with `-r`, as ever. When
 * the run fails, or the input is wrong, nothing is printed.
 */
export async function runRender(files: RenderFiles, options: RenderOptions, output: Output): Promise<number> {
  return interruptible(async (interrupt) => {
    const rendered = await withRunner(options, output, async (runner) => {
      // Loaded while the runner makes its namespaces.
      const [{ readInputs }, { renderInTime }] = await Promise.all([
        import("./render-inputs.ts"),
        import("./render-in-time.ts"),
      ]);
      const inputs = await readInputs(files, options, (message) => output.note(warning(message)));
      return renderInTime(inputs, options, runner, interrupt);
    });
    for (const note of rendered.notes) output.note(note);
    await output.product(rendered.product);
    return rendered.isFatal ? ExitCode.failed : ExitCode.ok;
  });
}
