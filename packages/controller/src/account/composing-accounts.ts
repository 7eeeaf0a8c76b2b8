import type { Composition } from "@xfn/composition";
import type { Definition, ServiceAccountReference } from "@xfn/composition/definition";
import type { LiveObject } from "@xfn/kubernetes";
import { asCompositeError, CompositeError } from "../objects/composite-error.ts";
import { SERVICE_ACCOUNTS } from "../objects/kinds.ts";
import { hasRight } from "./access-reviews.ts";
import { AccountRights } from "./account-rights.ts";
import type { Actor } from "./actor.ts";
import type { Actors } from "./actors.ts";
import { SharedReview } from "./shared-review.ts";

/** The account of a Composition at one revision. */
interface Composing {
  readonly actor: Actor;
  readonly mayImpersonate: SharedReview;
}

/**
 * The service accounts of the Compositions that compose the XRs of one definition.
 *
 * Without `serviceAccountRef`, a Composition has the rights of the definition's account, or else of the controller.
 * That user must be allowed to impersonate the account that a Composition names. Otherwise the author of a Composition
 * could gain more rights than the definition gives its XRs.
 */
export class ComposingAccounts {
  readonly #own: Actor;
  readonly #xr: Actor;
  readonly #account: ServiceAccountReference | undefined;
  readonly #now: () => number;
  // Keyed by the parsed Composition, which stays the same object while its revision is the same.
  readonly #byComposition: WeakMap<Composition, Composing> = new WeakMap();

  /**
   * @param actors of the definition
   * @param now milliseconds since the epoch
   */
  constructor({ own, xr }: Actors, { spec }: Definition, now: () => number) {
    this.#own = own;
    this.#xr = xr;
    this.#account = spec.serviceAccountRef;
    this.#now = now;
  }

  /**
   * The actor that composes with a Composition: its own account if it names one, otherwise the actor of its XRs.
   *
   * @param xr the XR that waits for the account
   * @throws {CompositeError} `Forbidden` if the account may not be impersonated; `ServiceAccountNotFound`
   */
  async actorOf(composition: Composition, xr: LiveObject, signal: AbortSignal): Promise<Actor> {
    const account = composition.spec.serviceAccountRef;
    if (account === undefined || isSame(account, this.#account)) return this.#xr;
    const named = `the Composition ${composition.metadata.name ?? ""}`;
    let known = this.#byComposition.get(composition);
    if (known === undefined) {
      known = {
        actor: new AccountRights(this.#own, this.#now, account, named),
        mayImpersonate: this.#reviewOf(account),
      };
      this.#byComposition.set(composition, known);
    }
    const { actor } = known;
    if (!(await this.#mayImpersonate(known, signal))) {
      const message =
        `${this.#title} may not impersonate ${actor.title}, which ${named} names; grant the verb impersonate on this ` +
        "account, or change serviceAccountRef of the Composition";
      throw new CompositeError("Forbidden", message);
    }
    await actor.requireAccount(xr, signal);
    return actor;
  }

  get #title(): string {
    return this.#xr.title ?? "the controller";
  }

  async #mayImpersonate({ mayImpersonate, actor }: Composing, signal: AbortSignal): Promise<boolean> {
    try {
      return await mayImpersonate.isYes(signal);
    } catch (error) {
      throw asCompositeError(error, `cannot review whether ${this.#title} may impersonate ${actor.title}`, false);
    }
  }

  #reviewOf({ namespace, name }: ServiceAccountReference): SharedReview {
    const { group, plural: resource } = SERVICE_ACCOUNTS;
    const attributes = { verb: "impersonate", group, resource, namespace, name };
    return new SharedReview((signal) => hasRight(this.#xr.client, attributes, signal), this.#now);
  }
}

function isSame(a: ServiceAccountReference, b: ServiceAccountReference | undefined): boolean {
  return a.namespace === b?.namespace && a.name === b.name;
}
