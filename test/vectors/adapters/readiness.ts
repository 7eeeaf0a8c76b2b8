import { isReady } from "@xfn/composition";
import type { JsonObject, ReadinessCheck } from "@xfn/functionio";
import type { Adapter } from "../adapter.ts";

/** Whether one composed resource is ready, by a template's checks or a function's. */
export const readiness: Adapter = {
  run: (vector) =>
    isReady(
      vector["resource"] as JsonObject,
      vector["readinessChecks"] as unknown as ReadinessCheck[],
      vector["source"] === "template" ? "template" : "function",
    ),
};
