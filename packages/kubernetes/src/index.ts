// The building blocks of controllers: a client for any object, caches, queues, leader election, events.
export type { ClusterAccess, TlsOptions } from "./auth/access.ts";
export { inClusterAccess } from "./auth/in-cluster.ts";
export { type KubeconfigOptions, loadKubeconfig } from "./auth/kubeconfig.ts";
export { KubeconfigError } from "./auth/kubeconfig-error.ts";
export { ApiError, type ApiErrorCause, type ApiErrorCode, isApiError } from "./client/api-error.ts";
export type { Backoff } from "./client/backoff.ts";
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
} from "./client/client.ts";
export { type ConnectOptions, connect, DEFAULT_RATE_LIMIT } from "./client/connect.ts";
export type { RequestOutcome } from "./client/request.ts";
export { namingProblem } from "./client/resource-path.ts";
export type { RateLimit } from "./client/token-bucket.ts";
export { type ElectionOptions, electLeader, type HeldLease } from "./controller/elect-leader.ts";
export type { EventRecorder } from "./controller/event-recorder.ts";
export { type FairSlots, fairSlots, type Standing } from "./controller/worker-slots.ts";
export { type EventRecorderOptions, recordEvents } from "./controller/record-events.ts";
export {
  DEFAULT_BACKOFF,
  DEFAULT_CONCURRENCY,
  DEFAULT_PACE,
  type ReconcileEnd,
  type ReconcileFailure,
  type WorkQueueOptions,
  workQueue,
} from "./controller/start-work-queue.ts";
export { whileHeld } from "./controller/leader-client.ts";
export type { Gate, Outcome, Reconcile, WorkQueue } from "./controller/work-queue.ts";
export type { Cache, Indexers, Informer, InformerHandlers, Informers } from "./informer/informer.ts";
export type { InformersOptions } from "./informer/kind-informer.ts";
export { startInformers } from "./informer/start-informers.ts";
