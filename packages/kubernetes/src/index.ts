// What controllers need of Kubernetes: a client for any object, caches, queues, leader election, events.
export type { ClusterAccess, TlsOptions } from "./access.ts";
export { ApiError, type ApiErrorCause, type ApiErrorCode, isApiError } from "./api-error.ts";
export type { Backoff } from "./backoff.ts";
export type {
  Client,
  ConnectedClient,
  DeleteOptions,
  ListOptions,
  LiveObject,
  ObjectList,
  ObjectReference,
  RequestOptions,
  ResourceKind,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from "./client.ts";
export { type ConnectOptions, connect, DEFAULT_RATE_LIMIT, DEFAULT_TIMEOUT_MS } from "./connect.ts";
export { type ElectionOptions, electLeader, type HeldLease } from "./elect-leader.ts";
export type { EventRecorder } from "./event-recorder.ts";
export { inClusterAccess } from "./in-cluster.ts";
export type { Cache, Indexers, Informer, InformerHandlers, Informers } from "./informer.ts";
export { type KubeconfigOptions, loadKubeconfig } from "./kubeconfig.ts";
export { KubeconfigError } from "./kubeconfig-error.ts";
export type { RateLimit } from "./rate-limit.ts";
export { type EventRecorderOptions, recordEvents } from "./record-events.ts";
export type { RequestOutcome } from "./request.ts";
export { namingProblem } from "./resource-path.ts";
export { type InformersOptions, startInformers, withoutManagedFields } from "./start-informers.ts";
export {
  DEFAULT_BACKOFF,
  DEFAULT_CONCURRENCY,
  DEFAULT_PACE,
  type ReconcileEnd,
  type ReconcileFailure,
  type WorkQueueOptions,
  workQueue,
} from "./start-work-queue.ts";
export { whileHeld } from "./while-held.ts";
export type { Gate, Outcome, Reconcile, WorkQueue } from "./work-queue.ts";
