import type { Severity } from "@xfn/functionio";
import type { PipelineInput } from "@xfn/pipeline";
import { traced } from "@xfn/program/tracing";
import type { CompositeCallers } from "../state/composite-callers.ts";

/** Runs each step in a span, and reports the ends of functions. */
export function observedSteps({
  tracing,
  onFunction,
}: Pick<CompositeCallers, "onFunction" | "tracing">): NonNullable<PipelineInput["inStep"]> {
  return async ({ name: step, kind, image }, work) => {
    // The query of a webhook's URL can contain a secret.
    const name = image?.split("?", 1)[0];
    const started = performance.now();
    const end = (code: string, severity: Severity): void => {
      if (kind === "function")
        onFunction?.({ name: name ?? "", code, severity, milliseconds: performance.now() - started });
    };
    try {
      const attributes = { "xfn.step": step, "xfn.image": name };
      const severity = await traced(tracing, "step", { attributes }, work);
      end(severity === "Fatal" ? "FatalResult" : "OK", severity);
    } catch (error) {
      end(error instanceof Error && "code" in error ? String(error.code) : "Internal", "Normal");
      throw error;
    }
  };
}
