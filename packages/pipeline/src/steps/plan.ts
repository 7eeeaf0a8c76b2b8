import { type Composition, type CompositionFunction, isPackageStep, type PipelineStep } from "@xfn/composition";
import { COMPLETE, containerStep, OVERLAY, type Sharing, webhookStep } from "./function-io-step.ts";
import { memoized } from "./memoized.ts";
import { packageStep } from "./package-step.ts";
import { hasTemplates, templatesStep } from "./run-templates.ts";
import type { Step } from "./step.ts";
import { withSettings } from "./with-settings.ts";

/** A Composition as one list of steps. */
export interface Plan {
  readonly steps: readonly Step[];
  /** Whether existing composed resources that nothing desires are deleted. */
  readonly deletesUndesired: boolean;
  /**
   * Whether desired state is a complete statement, as Crossplane's functions make it: readiness, names and owners
   * follow its rules too.
   */
  readonly isComplete: boolean;
}

/** The module of each type of function, with the settings that all types share. */
function functionStep(step: CompositionFunction, sharing: Sharing): Step {
  return withSettings(step.type === "Webhook" ? webhookStep(step, sharing) : containerStep(step, sharing), step);
}

function pipelineStep(step: PipelineStep): Step {
  return isPackageStep(step) ? withSettings(packageStep(step), step) : functionStep(step, COMPLETE);
}

/** The plan of a Composition: its templates, then its functions, or the steps of `mode: Pipeline`. */
export const planOf: (composition: Composition) => Plan = memoized(lower);

function lower(composition: Composition): Plan {
  const { mode, pipeline = [], functions, undesiredResources } = composition.spec;
  if (mode === "Pipeline") {
    return { steps: pipeline.map(pipelineStep), deletesUndesired: true, isComplete: true };
  }
  return {
    steps: [
      ...(hasTemplates(composition) ? [templatesStep(composition)] : []),
      ...functions.map((step) => functionStep(step, OVERLAY)),
    ],
    deletesUndesired: functions.length === 0 || undesiredResources === "Delete",
    isComplete: false,
  };
}
