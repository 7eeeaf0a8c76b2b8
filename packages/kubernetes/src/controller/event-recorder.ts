import type { KubernetesObject } from "@xfn/functionio";

/** Tells users what happened to an object (`kubectl describe`): equal events within some minutes are counted, not written again. */
export interface EventRecorder {
  /** Never fails and never waits: an event that cannot be written is dropped and counted. */
  record(about: KubernetesObject, event: { type: "Normal" | "Warning"; reason: string; message: string }): void;
  /** Writes what is still to be written. */
  flush(): Promise<void>;
}
