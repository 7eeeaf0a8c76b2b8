import { isObject } from "@xfn/json";
import type { Client, ResourceKind } from "@xfn/kubernetes";
import { hasElapsed } from "../objects/elapsed.ts";

/** The path of access reviews. A POST to it answers a question and stores nothing. */
const ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
/** A withdrawn right is noticed after this time. */
const FRESH_MS = 10_000;
/** Rights that no reconcile has requested for this long are no longer reviewed. */
const UNUSED_MS = 120_000;

/** The fields of a review's `spec.resourceAttributes`. */
export type RightAttributes = { readonly [field: string]: string };

interface Review {
  readonly attributes: RightAttributes;
  askedAt: number;
  /** Undefined until the first review. */
  allowed: { readonly value: boolean; readonly at: number } | undefined;
}

/**
 * The read rights of a user, as SelfSubjectAccessReviews report them. All reconciles share the reviews, so a steady
 * state costs one request per kind every ten seconds.
 */
export class AccessReviews {
  readonly #client: Client;
  readonly #now: () => number;
  readonly #reviews: Map<string, Review> = new Map();
  /** Answers of {@link has}, the oldest first. */
  readonly #answers: Map<string, { readonly at: number; readonly isYes: Promise<boolean> }> = new Map();
  #refreshing: Promise<void> | undefined;

  /**
   * @param client with the rights of the user
   * @param now milliseconds since the epoch
   */
  constructor(client: Client, now: () => number) {
    this.#client = client;
    this.#now = now;
  }

  /**
   * Whether the user is known to have a right. Also false before the first review: the caller then reads live, and the
   * server decides. The next `refresh` reviews the right.
   */
  allows(verb: "get" | "list", { group, plural }: ResourceKind, namespace: string | undefined): boolean {
    const key = JSON.stringify([verb, group, plural, namespace]);
    const askedAt = this.#now();
    const review = this.#reviews.get(key);
    if (review === undefined) {
      const attributes = { verb, group, resource: plural, ...(namespace !== undefined && { namespace }) };
      this.#reviews.set(key, { attributes, askedAt, allowed: undefined });
      return false;
    }
    review.askedAt = askedAt;
    return review.allowed?.value === true && this.#isFresh(review);
  }

  /**
   * Whether the user has a right, including rights that caches do not need. Callers share an answer for ten seconds.
   * Only another call renews it.
   *
   * @throws {ApiError} if the server does not answer
   */
  async has(attributes: RightAttributes, signal: AbortSignal): Promise<boolean> {
    for (const [key, { at }] of this.#answers) {
      if (!hasElapsed(at, this.#now(), FRESH_MS)) break;
      this.#answers.delete(key);
    }
    const key = JSON.stringify(attributes);
    const answer = this.#answers.get(key) ?? { at: this.#now(), isYes: hasRight(this.#client, attributes, signal) };
    this.#answers.set(key, answer);
    try {
      return await answer.isYes;
    } catch (error) {
      if (this.#answers.get(key) === answer) this.#answers.delete(key);
      throw error;
    }
  }

  /** Reviews the rights that reconciles have requested, unless their last review is recent. */
  async refresh(signal: AbortSignal): Promise<void> {
    this.#refreshing ??= this.#refresh(signal).finally(() => (this.#refreshing = undefined));
    await this.#refreshing;
  }

  async #refresh(signal: AbortSignal): Promise<void> {
    const now = this.#now();
    for (const [key, { askedAt }] of this.#reviews) if (now - askedAt > UNUSED_MS) this.#reviews.delete(key);
    const stale = [...this.#reviews.values()].filter((review) => !this.#isFresh(review));
    await Promise.all(
      stale.map(async (review) => {
        review.allowed = { value: await this.#review(review, signal), at: this.#now() };
      }),
    );
  }

  async #review({ attributes }: Review, signal: AbortSignal): Promise<boolean> {
    try {
      return await hasRight(this.#client, attributes, signal);
    } catch {
      // The caller then reads live, which reports the problem.
      return false;
    }
  }

  #isFresh({ allowed }: Review): boolean {
    return allowed !== undefined && !hasElapsed(allowed.at, this.#now(), FRESH_MS);
  }
}

/**
 * Asks the API server whether a client's user has a right.
 *
 * @throws {ApiError} if it does not answer
 */
export async function hasRight(client: Client, attributes: RightAttributes, signal: AbortSignal): Promise<boolean> {
  const body = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    spec: { resourceAttributes: attributes },
  };
  const answer = await client.raw("POST", ACCESS_REVIEWS, { body, signal });
  const status = isObject(answer) ? answer["status"] : undefined;
  return isObject(status) && status["allowed"] === true;
}
