import { isReady } from "@xfn/composition";
import type { ReadinessCheck } from "@xfn/functionio";
import type { JsonObject } from "@xfn/json";
import type { Adapter } from "../adapter.ts";

/** Evaluates the readiness checks of a template or a function for one composed resource. */
export const readiness: Adapter = {
  run: (vector) =>
    isReady(
      vector["resource"] as JsonObject,
      vector["readinessChecks"] as unknown as ReadinessCheck[],
      vector["source"] === "template" ? "template" : "function",
    ),
};
