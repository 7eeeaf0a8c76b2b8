import type { Cache, Client, EventRecorder, Informers, ResourceKind } from "@xfn/kubernetes";
import type { FunctionRunner } from "@xfn/pipeline";
import type { Logger } from "./logger.ts";

/** What every controller here works with. */
export interface Context {
  readonly client: Client;
  readonly informers: Informers;
  readonly events: EventRecorder;
  readonly log: Logger;
  /** Watches on the kinds of composed resources. Absent (in a test): an XR learns of their changes when it is polled. */
  readonly composed?: ComposedWatches | undefined;
  /** Runs functions. Absent: composition functions are off, and a Composition that has some is not composed. */
  readonly runner?: FunctionRunner | undefined;
  /** Our own namespace: where pull secrets may be read. */
  readonly namespace: string;
  /** Our own service account, whose pull secrets are used for all images. Absent: none are. */
  readonly serviceAccount?: string | undefined;
  /** Other namespaces that pull secrets may be read from (`--pull-secret-namespaces`). */
  readonly pullSecretNamespaces: readonly string[];
  /** The time between two looks at an XR that nothing happened to, in milliseconds (`--poll-interval`). */
  readonly pollIntervalMs: number;
  /** Milliseconds since the epoch; a test may set it. */
  readonly now: () => number;
}

/** Watches on kinds that composed resources have: shared by all XRs, begun with the first that needs a kind, ended with the last. */
export interface ComposedWatches {
  /**
   * Says all the kinds that an XR's composed resources have, in place of what was said of it before; none forgets the XR. From
   * then on, a change of a resource that has the XR as its controller reconciles the XR at once.
   */
  watch(xrUid: string, kinds: readonly ResourceKind[]): void;
  /** What is known of a kind that is watched and has been listed; else undefined, and who needs an object reads it live. */
  cache(kind: ResourceKind): Cache | undefined;
}
