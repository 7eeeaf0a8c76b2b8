import type { ServiceAccountReference } from "@xfn/composition/definition";
import { type Client, impersonatingClient, type LiveObject, type ResourceKind } from "@xfn/kubernetes";
import { asCompositeError, CompositeError } from "../objects/composite-error.ts";
import type { ComposedWatches, RequiredWatches } from "../objects/context.ts";
import { referenceOf, SERVICE_ACCOUNTS } from "../objects/kinds.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { describeReference, referenceTo } from "../objects/references.ts";
import { AccessReviews, type RightAttributes } from "./access-reviews.ts";
import type { Access, Actor } from "./actor.ts";
import { SharedReview } from "./shared-review.ts";

/**
 * The rights of a service account that a definition or a Composition names. Requests for the definition's XRs, their
 * composed resources and their Secrets impersonate the account, and have no other rights. The controller fills the
 * caches with its own rights, so a cache answers only what the account may read. A Composition's account replaces the
 * definition's account for the objects that the Composition reads and composes.
 */
export class AccountRights implements Actor {
  readonly client: Client;
  readonly informers: Access["informers"];
  readonly composed: ComposedWatches;
  readonly required: RequiredWatches;
  readonly #account: ServiceAccountReference;
  readonly #namedBy: string;
  readonly #reviews: AccessReviews;
  readonly #existence: SharedReview;

  /**
   * @param now milliseconds since the epoch
   * @param namedBy the owner of the field `serviceAccountRef`, such as `the definition`
   */
  constructor(
    { client, informers, composed, required }: Access,
    now: () => number,
    account: ServiceAccountReference,
    namedBy: string,
  ) {
    const { namespace, name } = account;
    this.#account = account;
    this.#namedBy = namedBy;
    this.client = impersonatingClient(client, `system:serviceaccount:${namespace}:${name}`);
    this.informers = informers;
    this.composed = this.#guardComposed(composed);
    this.required = this.#guardRequired(required);
    this.#reviews = new AccessReviews(this.client, now);
    const reference = referenceOf(SERVICE_ACCOUNTS, name, namespace);
    this.#existence = new SharedReview(
      async (signal) => (await findLive({ client }, reference, signal)) !== undefined,
      now,
    );
  }

  mayRead(kind: ResourceKind, namespace?: string): boolean {
    return this.#reviews.allows("get", kind, namespace);
  }

  async has(attributes: RightAttributes, signal: AbortSignal): Promise<boolean> {
    return await this.#reviews.has(attributes, signal);
  }

  async require(kind: ResourceKind, object: LiveObject, signal: AbortSignal): Promise<void> {
    await this.requireAccount(object, signal);
    const { namespace } = object.metadata;
    if (this.mayRead(kind, namespace)) return;
    const reference = referenceTo(object);
    try {
      await findLive(this, reference, signal);
    } catch (error) {
      throw asCompositeError(error, `${this.title} cannot read ${describeReference(reference)}`, false);
    }
  }

  async requireAccount(object: LiveObject, signal: AbortSignal): Promise<void> {
    if (!(await this.#exists(signal))) {
      const change = `change serviceAccountRef of ${this.#namedBy}`;
      const waits = isBeingDeleted(object)
        ? `its finalizer waits for the account, with whose rights everything is deleted; create ${this.title} again, or ${change}`
        : `create it, or ${change}`;
      throw new CompositeError("ServiceAccountNotFound", `${this.title} does not exist; ${waits}`);
    }
    await this.#reviews.refresh(signal);
  }

  get title(): string {
    return `the service account ${this.#account.namespace}/${this.#account.name}`;
  }

  async #exists(signal: AbortSignal): Promise<boolean> {
    try {
      return await this.#existence.isYes(signal);
    } catch (error) {
      throw asCompositeError(error, `the controller cannot read ${this.title}`, false);
    }
  }

  #guardComposed(composed: ComposedWatches): ComposedWatches {
    return {
      watch: (xrUid, kinds) => composed.watch(xrUid, kinds),
      problem: (kind) => composed.problem(kind),
      cache: (kind) => {
        const cache = composed.cache(kind);
        if (cache === undefined) return undefined;
        return {
          get: (name, namespace) => (this.mayRead(kind, namespace) ? cache.get(name, namespace) : undefined),
          isWhole: (object) => cache.isWhole(object),
          complete: (object) => cache.complete(object),
        };
      },
    };
  }

  #guardRequired(required: RequiredWatches): RequiredWatches {
    return {
      watch: (xr, selections, purpose) => required.watch(xr, selections, purpose),
      forget: (xrUid) => required.forget(xrUid),
      cache: (selection) =>
        this.#reviews.allows("list", selection.kind, selection.namespace) ? required.cache(selection) : undefined,
    };
  }
}
