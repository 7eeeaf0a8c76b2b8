import { type Composition, isComplete, packageStepsOf, stepsOf, traitsOf } from "@xfn/composition";
import { CompositeError } from "../../objects/composite-error.ts";
import type { CompositePort } from "../state/composite-port.ts";

/** @throws {CompositeError} for a Composition that cannot run in this controller */
export function requireSupported(
  { callers: { runner }, limits: { functionRuntimes } }: Pick<CompositePort, "callers" | "limits">,
  composition: Composition,
): void {
  const steps = stepsOf(composition);
  const title = `the Composition ${composition.metadata.name ?? ""}`;
  if (composition.spec.environment !== undefined && isComplete(composition)) {
    throw new CompositeError(
      "EnvironmentUnsupported",
      `${title} has an environment, which mode: Pipeline cannot read; remove spec.environment, and add a step with ` +
        "function-environment-configs",
    );
  }
  if (steps.length > 0 && runner === undefined) {
    throw new CompositeError(
      "FunctionsDisabled",
      `${title} has functions, which are disabled; start the controller with --enable-composition-functions`,
    );
  }
  const named = packageStepsOf(composition).find((step) => traitsOf(step).image !== undefined);
  if (named !== undefined && !functionRuntimes) {
    throw new CompositeError(
      "FunctionsDisabled",
      `step "${named.name}" of ${title} names a package, and packages in Compositions are disabled; start the ` +
        "controller with --enable-function-runtimes, or name a Function in functionRef.name",
    );
  }
}
