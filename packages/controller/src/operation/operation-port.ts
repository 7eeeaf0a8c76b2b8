import type { EventRecorder } from "@xfn/kubernetes";
import type { CompositeCallers } from "../composite/state/composite-callers.ts";
import type { CompositeLimits } from "../composite/state/composite-port.ts";
import type { Reader } from "../objects/read-objects.ts";

/** The needs of the reconcilers of Operations, CronOperations and WatchOperations. */
export interface OperationPort {
  /** The controller's own rights. */
  readonly access: Reader;
  readonly callers: CompositeCallers;
  readonly limits: CompositeLimits;
  readonly events: EventRecorder;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}
