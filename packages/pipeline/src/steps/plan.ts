import { type Composition, isComplete, type PackageStep, type Step, stepsOf, traitsOf } from "@xfn/composition";
import { containerCall } from "./container-call.ts";
import { COMPLETE, functionIOStep, OVERLAY, type Sharing } from "./function-io-step.ts";
import { memoized } from "./memoized.ts";
import { hasTemplates, templatesStep } from "./run-templates.ts";
import type { PlannedStep } from "./step.ts";
import { webhookCall } from "./webhook-call.ts";
import { withSettings } from "./with-settings.ts";

/** A Composition as one list of steps. */
export interface Plan {
  readonly steps: readonly PlannedStep[];
  /** Whether existing composed resources that nothing desires are deleted. */
  readonly deletesUndesired: boolean;
  /**
   * Whether desired state is a complete statement, as Crossplane's functions make it: readiness, names and owners
   * follow its rules too.
   */
  readonly isComplete: boolean;
}

/** The module of each type of step. */
function plannedStep(step: Step, sharing: Sharing): PlannedStep {
  switch (step.type) {
    case "Package":
      return packageStep(step);
    case "Webhook":
      return functionIOStep(step, webhookCall, sharing);
    default:
      return functionIOStep(step, containerCall, sharing);
  }
}

function packageStep(step: PackageStep): PlannedStep {
  return {
    description: { name: step.name, kind: "function", image: traitsOf(step).target },
    async prepare(run, signal) {
      // Loaded on demand: most Compositions need no gRPC.
      const { preparePackage } = await import("./call-package.ts");
      return preparePackage(step, run, signal);
    },
  };
}

/** The plan of a Composition: its templates, then its functions, or the steps of `mode: Pipeline`. */
export const planOf: (composition: Composition) => Plan = memoized(lower);

function lower(composition: Composition): Plan {
  const complete = isComplete(composition);
  const sharing = complete ? COMPLETE : OVERLAY;
  const steps = stepsOf(composition).map((step) => withSettings(plannedStep(step, sharing), step));
  if (complete) return { steps, deletesUndesired: true, isComplete: true };
  return {
    steps: [...(hasTemplates(composition) ? [templatesStep(composition)] : []), ...steps],
    deletesUndesired: steps.length === 0 || composition.spec.undesiredResources === "Delete",
    isComplete: false,
  };
}
