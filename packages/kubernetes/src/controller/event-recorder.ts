import type { KubernetesObject } from "@xfn/json";

/**
 * Reports to users what happened to an object (`kubectl describe`). Equal events within some minutes are counted on the
 * first.
 */
export interface EventRecorder {
  /** Never fails and never waits. An event that cannot be written is dropped and counted. */
  record(about: KubernetesObject, event: { type: "Normal" | "Warning"; reason: string; message: string }): void;
  /** Writes all pending events and counts. */
  flush(): Promise<void>;
}
