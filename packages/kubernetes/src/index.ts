// The building blocks of controllers: a client for any object, caches, queues, leader election, events.
export type { ClusterAccess } from "./auth/access.ts";
export { kubeconfigContexts, loadKubeconfig } from "./auth/kubeconfig.ts";
export { KubeconfigError } from "./auth/kubeconfig-error.ts";
export { ApiError, type ApiErrorCode, isApiError } from "./client/api-error.ts";
export type {
  Client,
  ConnectedClient,
  LiveObject,
  ObjectList,
  ObjectReference,
  ResourceKind,
  WatchEvent,
  WriteOptions,
} from "./client/client.ts";
export { type ConnectOptions, connect, DEFAULT_RATE_LIMIT } from "./client/connect.ts";
export { impersonatingClient } from "./client/impersonating-client.ts";
export { apiVersionOf, qualifiedKind, resourceOf } from "./client/object-identity.ts";
export type { RequestOutcome } from "./client/request.ts";
export { namingProblem } from "./client/resource-path.ts";
export type { LeaderLease } from "./controller/acquired-lease.ts";
export { electLeader } from "./controller/elect-leader.ts";
export type { EventRecorder } from "./controller/event-recorder.ts";
export { leaderClient } from "./controller/leader-client.ts";
export { recordEvents } from "./controller/record-events.ts";
export { workQueue } from "./controller/start-work-queue.ts";
export type { Outcome, Reconcile, WorkQueue } from "./controller/work-queue.ts";
export { WorkerSlots } from "./controller/worker-slots.ts";
export { CacheBudget } from "./informer/cache-budget.ts";
export { inTurns } from "./informer/in-turns.ts";
export type {
  Cache,
  Indexers,
  Informer,
  InformerHandlers,
  InformerOptions,
  Informers,
  SubscribeOptions,
} from "./informer/informer.ts";
export { objectBytes } from "./informer/object-bytes.ts";
export { startInformers } from "./informer/start-informers.ts";
