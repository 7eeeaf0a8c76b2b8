import type { PackageStep } from "@xfn/composition";
import { imageOf } from "./package-name.ts";
import type { PlannedStep } from "./step.ts";

/** A step that calls a function package: a gRPC server. */
export function packageStep(step: PackageStep): PlannedStep {
  return {
    description: { name: step.name, kind: "function", image: imageOf(step) },
    async prepare(run, signal) {
      // Loaded on demand: most Compositions need no gRPC.
      const { preparePackage } = await import("./call-package.ts");
      return preparePackage(step, run, signal);
    },
  };
}
