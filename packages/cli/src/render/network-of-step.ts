import { stepsOf, traitsOf } from "@xfn/composition";
import { networkHint } from "../terminal/network-hint.ts";
import type { ResolvedImages } from "./step-images.ts";

/**
 * The way out for a step without a network whose function asked for something of it; undefined if its texts do not say
 * so, or if it had a network.
 *
 * @param texts - its messages and the end of its stderr
 */
export function stepNetworkHint(
  { composition, functions }: Pick<ResolvedImages, "composition" | "functions">,
  name: string,
  texts: readonly (string | undefined)[],
): string | undefined {
  const step = stepsOf(composition).find((each) => each.name === name);
  const { isolation, caller, functionName } = step === undefined ? {} : traitsOf(step);
  const fn = functions.find((each) => each.name === functionName);
  if (isolation !== "Isolated" || fn?.target !== undefined) return undefined;
  const isContainer = caller === "runner";
  return networkHint(
    texts,
    isContainer
      ? "the step's container has network: Accessible"
      : "they are programs that you start: render.crossplane.io/runtime: Development",
  );
}
