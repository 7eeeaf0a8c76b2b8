import type { Client, EventRecorder, Informers } from "@xfn/kubernetes";
import type { FunctionRunner } from "@xfn/pipeline";
import type { Logger } from "./log.ts";

/** What every controller here works with. */
export interface Context {
  readonly client: Client;
  readonly informers: Informers;
  readonly events: EventRecorder;
  readonly log: Logger;
  /** Runs functions. Absent: composition functions are off, and a Composition that has some is not composed. */
  readonly runner?: FunctionRunner | undefined;
  /** Our own namespace: where pull secrets may be read. */
  readonly namespace: string;
  /** Other namespaces that pull secrets may be read from (`--pull-secret-namespaces`). */
  readonly pullSecretNamespaces: readonly string[];
  /** The time between two looks at an XR that nothing happened to, in milliseconds (`--poll-interval`). */
  readonly pollIntervalMs: number;
  /** Milliseconds since the epoch; a test may set it. */
  readonly now: () => number;
}
