import type { LiveObject, ResourceKind } from "@xfn/kubernetes";
import type { ComposedWatches, RequiredWatches } from "../objects/context.ts";
import type { Reader } from "../objects/read-objects.ts";
import type { RightAttributes } from "./access-reviews.ts";

/** Access to the API server and its caches. */
export interface Access extends Reader {
  /** Watches on the kinds of composed resources. */
  readonly composed: ComposedWatches;
  /** Watches on the objects that functions require. */
  readonly required: RequiredWatches;
}

/** Access with the controller's own rights, from which actors are made. Without watches, polls notice changes. */
export interface OwnAccess extends Reader {
  readonly composed?: ComposedWatches | undefined;
  readonly required?: RequiredWatches | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * A user of the API server whose rights a reconcile uses: the controller itself, or a service account. Caches and
 * watches of an account answer only what the account may read.
 */
export interface Actor extends Access {
  /** The service account in a message; undefined: the controller itself. */
  readonly title: string | undefined;
  /** Whether the actor is known to have the right to read objects of a kind. If not, read them live. */
  mayRead(kind: ResourceKind, namespace?: string): boolean;
  /** Whether the actor has a right; for an account, as of its last review. @throws {ApiError} */
  has(attributes: RightAttributes, signal: AbortSignal): Promise<boolean>;
  /**
   * Checks that the account exists, and that it may read an object from the controller's cache.
   *
   * @param kind the object's kind
   * @throws {CompositeError} `ServiceAccountNotFound`: nothing may be written; `Forbidden`
   */
  require(kind: ResourceKind, object: LiveObject, signal: AbortSignal): Promise<void>;
  /** @param object the object that waits for the account @throws {CompositeError} `ServiceAccountNotFound` */
  requireAccount(object: LiveObject, signal: AbortSignal): Promise<void>;
}
