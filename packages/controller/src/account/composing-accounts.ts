import type { Composition } from "@xfn/composition";
import type { Definition, ServiceAccountReference } from "@xfn/composition/definition";
import type { Client, LiveObject } from "@xfn/kubernetes";
import { asCompositeError, CompositeError } from "../objects/composite-error.ts";
import type { Context } from "../objects/context.ts";
import { SERVICE_ACCOUNTS } from "../objects/kinds.ts";
import { hasRight } from "./access-reviews.ts";
import { AccountRights } from "./account-rights.ts";
import { SharedReview } from "./shared-review.ts";

/** The account of a Composition, as it was at one revision. */
interface Composing {
  readonly rights: AccountRights;
  readonly mayImpersonate: SharedReview;
}

/**
 * The service accounts of the Compositions that compose the XRs of one definition.
 *
 * Without `serviceAccountRef`, a Composition has the rights of the definition's account, or else of the controller.
 * That user must be allowed to impersonate the account that a Composition names. Otherwise the author of a Composition
 * could reach further than the definition lets its XRs reach.
 */
export class ComposingAccounts {
  readonly #context: Context;
  readonly #own: ServiceAccountReference | undefined;
  readonly #client: Client;
  readonly #title: string;
  // By the parsed Composition, which is the same object while its revision is the same.
  readonly #byComposition: WeakMap<Composition, Composing> = new WeakMap();

  /**
   * @param context with the controller's own rights
   * @param rights the rights of the definition's account; undefined if the definition names none
   */
  constructor(context: Context, { spec }: Definition, rights: AccountRights | undefined) {
    this.#context = context;
    this.#own = spec.serviceAccountRef;
    this.#client = rights?.context.client ?? context.client;
    this.#title = rights?.title ?? "the controller";
  }

  /**
   * The rights with which a Composition composes; undefined if it has the same rights as its XRs.
   *
   * @param xr the XR that waits for the account
   * @throws {CompositeError} `Forbidden` if the account may not be impersonated; `ServiceAccountNotFound`
   */
  async rightsOf(composition: Composition, xr: LiveObject, signal: AbortSignal): Promise<AccountRights | undefined> {
    const account = composition.spec.serviceAccountRef;
    if (account === undefined || isSame(account, this.#own)) return undefined;
    const named = `the Composition ${composition.metadata.name ?? ""}`;
    let known = this.#byComposition.get(composition);
    if (known === undefined) {
      known = { rights: new AccountRights(this.#context, account, named), mayImpersonate: this.#reviewOf(account) };
      this.#byComposition.set(composition, known);
    }
    const { rights } = known;
    if (!(await this.#mayImpersonate(known, signal))) {
      const message =
        `${this.#title} may not impersonate ${rights.title}, which ${named} names; grant the verb impersonate on this ` +
        "account, or change serviceAccountRef of the Composition";
      throw new CompositeError("Forbidden", message);
    }
    await rights.requireAccount(xr, signal);
    return rights;
  }

  async #mayImpersonate({ mayImpersonate, rights }: Composing, signal: AbortSignal): Promise<boolean> {
    try {
      return await mayImpersonate.isYes(signal);
    } catch (error) {
      throw asCompositeError(error, `cannot review whether ${this.#title} may impersonate ${rights.title}`, false);
    }
  }

  #reviewOf({ namespace, name }: ServiceAccountReference): SharedReview {
    const { group, plural: resource } = SERVICE_ACCOUNTS;
    const attributes = { verb: "impersonate", group, resource, namespace, name };
    return new SharedReview((signal) => hasRight(this.#client, attributes, signal), this.#context.now);
  }
}

function isSame(a: ServiceAccountReference, b: ServiceAccountReference | undefined): boolean {
  return a.namespace === b?.namespace && a.name === b.name;
}
