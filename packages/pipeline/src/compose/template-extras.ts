import type { Composition } from "@xfn/composition";
import type { DesiredResource } from "@xfn/functionio";

/** The parts of a template that functions do not see. */
export interface TemplateExtras {
  readinessChecks: NonNullable<DesiredResource["readinessChecks"]>;
  connectionDetails: NonNullable<DesiredResource["connectionDetails"]>;
}

/** The default of Crossplane's API server for a template without readiness checks. */
const DEFAULT_CHECKS: TemplateExtras["readinessChecks"] = [
  { type: "MatchCondition", matchCondition: { type: "Ready", status: "True" } },
];

/** Readiness checks and connection details of the templates, by entry name. */
export function templateExtras(composition: Composition): Map<string, TemplateExtras> {
  const extras = new Map<string, TemplateExtras>();
  for (const { name, readinessChecks, connectionDetails } of composition.spec.resources) {
    extras.set(name, {
      readinessChecks: readinessChecks ?? DEFAULT_CHECKS,
      connectionDetails: connectionDetails ?? [],
    });
  }
  return extras;
}
