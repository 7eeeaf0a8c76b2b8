import type { EventRecorder } from "@xfn/kubernetes";
import { callersOf } from "../composite/state/composite-callers.ts";
import { limitsOf } from "../composite/state/composite-port.ts";
import type { ComposingOptions } from "../composite/state/composite-shared.ts";
import type { OperationReconcilers } from "../engine/operation-controllers.ts";
import { cronOperationReconciler } from "./reconcile-cron.ts";
import { operationReconciler } from "./reconcile-operation.ts";
import { watchOperationReconciler } from "./reconcile-watch.ts";

/** The reconcilers of Operations, and of the kinds that create them. */
export function operationReconcilers(
  options: ComposingOptions & { readonly events: EventRecorder },
): OperationReconcilers {
  const { events, now } = options;
  const port = { access: options, callers: callersOf(options), limits: limitsOf(options), events, now };
  return {
    operation: operationReconciler(port),
    cronOperation: cronOperationReconciler(port),
    watchOperation: (watches) => watchOperationReconciler(port, watches),
  };
}
