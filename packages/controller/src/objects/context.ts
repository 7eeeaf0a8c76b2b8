import type { Cache, Client, EventRecorder, Informers, ResourceKind } from "@xfn/kubernetes";
import type { FunctionRunner } from "@xfn/pipeline";
import type { Logger } from "./logger.ts";

/** What every reconciler uses. */
export interface Context {
  readonly client: Client;
  readonly informers: Informers;
  readonly events: EventRecorder;
  readonly log: Logger;
  /** Watches on the kinds of composed resources. Absent in tests: changes are seen at the next poll. */
  readonly composed?: ComposedWatches | undefined;
  /** Runs functions. Absent: functions are disabled, and a Composition that has functions is not composed. */
  readonly runner?: FunctionRunner | undefined;
  /** The controller's own namespace, from which pull secrets may be read. */
  readonly namespace: string;
  /** The controller's own service account, whose pull secrets apply to every image. Absent: there are none. */
  readonly serviceAccount?: string | undefined;
  /** Other namespaces from which pull secrets may be read (`--pull-secret-namespaces`). */
  readonly pullSecretNamespaces: readonly string[];
  /** The time between two reconciles of an unchanged object, in milliseconds (`--poll-interval`). */
  readonly pollIntervalMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Watches on the kinds of composed resources, shared by all XRs. A watch lives as long as one XR needs it. */
export interface ComposedWatches {
  /**
   * Sets the kinds of an XR's composed resources; an empty list forgets the XR. A change of a resource that the XR
   * controls then reconciles the XR at once.
   */
  watch(xrUid: string, kinds: readonly ResourceKind[]): void;
  /** The cache of a kind that is watched and listed; undefined otherwise: read the object live. */
  cache(kind: ResourceKind): Cache | undefined;
}
