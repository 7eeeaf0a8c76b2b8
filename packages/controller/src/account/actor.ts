import type { LiveObject, ResourceKind } from "@xfn/kubernetes";
import type { Context } from "../objects/context.ts";
import type { RightAttributes } from "./access-reviews.ts";

/**
 * A user of the API server whose rights a reconcile uses: the controller itself, or a service account. Caches and
 * watches of an account answer only what the account may read.
 */
export interface Actor extends Pick<Context, "client" | "informers" | "composed" | "required"> {
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
