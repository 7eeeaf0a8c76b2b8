import type { LiveObject, ResourceKind } from "@xfn/kubernetes";
import type { Context } from "../objects/context.ts";
import type { RightAttributes } from "./access-reviews.ts";

/**
 * A user of the API server with whose rights a reconcile reads and writes: the controller itself, or a service account.
 * Caches and watches of an account answer only what it may read.
 */
export interface Actor extends Pick<Context, "client" | "informers" | "composed" | "required"> {
  /** The service account in a message; undefined: the controller itself. */
  readonly title: string | undefined;
  /** Whether the actor is known to be allowed to read objects of a kind. If not, read them live. */
  mayRead(kind: ResourceKind, namespace?: string): boolean;
  /** Whether the actor has a right; of an account, as reviewed lately. @throws {ApiError} */
  has(attributes: RightAttributes, signal: AbortSignal): Promise<boolean>;
  /**
   * Checks that the account exists, and that it may read an object that the controller has in a cache.
   *
   * @param kind the object's kind
   * @throws {CompositeError} `ServiceAccountNotFound`: nothing may be written; `Forbidden`
   */
  require(kind: ResourceKind, object: LiveObject, signal: AbortSignal): Promise<void>;
  /** @param object the object that waits for the account @throws {CompositeError} `ServiceAccountNotFound` */
  requireAccount(object: LiveObject, signal: AbortSignal): Promise<void>;
}
