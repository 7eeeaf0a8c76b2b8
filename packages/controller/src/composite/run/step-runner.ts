import { type Composition, stepsOf, traitsOf } from "@xfn/composition";
import type { FunctionRunner } from "@xfn/pipeline";
import { CompositeError } from "../../objects/composite-error.ts";
import type { CompositeCallers } from "../state/composite-callers.ts";

/**
 * The runner of a Composition's steps: the controller's own, or the runner that a step names in
 * `container.runner.endpoint`.
 *
 * @throws {CompositeError} `RunnerNotAllowed` for an endpoint that the operator has not allowed. Otherwise the author
 *   of a Composition could send the state of XRs to any host
 */
export function stepRunner(
  { runners }: Pick<CompositeCallers, "runners">,
  composition: Composition,
  own: FunctionRunner,
): FunctionRunner {
  const others = new Map<string, FunctionRunner>();
  for (const step of stepsOf(composition)) {
    const { endpoint } = traitsOf(step);
    if (endpoint === undefined) continue;
    const runner = runners?.at(endpoint);
    if (runner === undefined) {
      throw new CompositeError(
        "RunnerNotAllowed",
        `step ${JSON.stringify(step.name)} of the Composition ${composition.metadata.name ?? ""} names the runner ${JSON.stringify(endpoint)}, ` +
          "which is not allowed; remove container.runner.endpoint, or start the controller with --allowed-runners",
      );
    }
    others.set(step.name, runner);
  }
  if (others.size === 0) return own;
  return {
    maxOutputBytes: own.maxOutputBytes,
    run: (image, input, options) => (others.get(options?.step ?? "") ?? own).run(image, input, options),
  };
}
