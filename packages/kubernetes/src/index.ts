// What controllers need of Kubernetes: a client for any object, caches, queues, leader election, events.
export {
  ApiError,
  type ApiErrorCode,
  type Client,
  type DeleteOptions,
  type ListOptions,
  type LiveObject,
  type ObjectList,
  type ObjectReference,
  type RequestOptions,
  type ResourceKind,
  type WatchEvent,
  type WatchOptions,
  type WriteOptions,
} from "./client.ts";
export type { EventRecorder } from "./event-recorder.ts";
export type { Cache, Indexers, Informer, InformerHandlers, Informers } from "./informer.ts";
export type { Gate, Outcome, Reconcile, WorkQueue } from "./work-queue.ts";
