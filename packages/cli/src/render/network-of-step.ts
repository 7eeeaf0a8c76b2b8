import { isPackageStep } from "@xfn/composition";
import { networkHint } from "../terminal/network-hint.ts";
import type { RenderInputs } from "./render-inputs.ts";

/**
 * The way out for a step without a network whose function asked for something of it; undefined if its texts do not say
 * so, or if it had a network.
 *
 * @param texts - its messages and the end of its stderr
 */
export function stepNetworkHint(
  { composition, functions }: Pick<RenderInputs, "composition" | "functions">,
  name: string,
  texts: readonly (string | undefined)[],
): string | undefined {
  const { mode, functions: ours, pipeline = [] } = composition.spec;
  const step = (mode === "Pipeline" ? pipeline : ours).find((each) => each.name === name);
  if (step === undefined) return undefined;
  if (!isPackageStep(step)) {
    if (step.type === "Webhook") return undefined;
    const isIsolated = step.container.network === "Isolated";
    return isIsolated ? networkHint(texts, "the step's container has network: Accessible") : undefined;
  }
  const fn = functions.find((each) => each.name === step.functionRef.name);
  if (fn?.target !== undefined) return undefined;
  return networkHint(texts, "they are programs that you start: render.crossplane.io/runtime: Development");
}
