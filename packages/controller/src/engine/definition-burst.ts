import type { DefinitionBursts } from "../objects/context.ts";

/** Fewer definitions cost little, and their users have their rights when the definition is established. */
const SMALLEST_BURST = 10;
/** How long a burst lasts after its last definition has its CRDs: `kubectl apply` sends the next one sooner. */
const QUIET_MS = 1_000;
/** A definition whose CRD waits for longer does not defer the roles of others. */
const LONGEST_PENDING_MS = 15_000;
/** Bounds the wait of users for their rights while definitions keep coming. */
const LONGEST_DEFERRAL_MS = 30_000;

/**
 * Defers the ClusterRoles of definitions while many definitions wait for their CRDs.
 *
 * Kubernetes adds each role to admin, edit and view, and writes those again for every new role. Written one by one
 * between the CRDs of a burst, the roles of n definitions cost n writes of up to n rules. Written together after the
 * burst, most of them share a write.
 *
 * The state only defers writes: after a crash, the first reconciles write the missing roles.
 */
export class DefinitionBurst implements DefinitionBursts {
  readonly #resume: (key: string) => void;
  /** Until when each definition is part of the burst, by `performance.now()`. */
  readonly #members: Map<string, number> = new Map();
  /** Since when the roles of a definition are deferred. */
  readonly #deferred: Map<string, number> = new Map();
  #timer: NodeJS.Timeout | undefined;

  /** @param resume called for each definition with deferred roles when the burst has ended */
  constructor(resume: (key: string) => void) {
    this.#resume = resume;
  }

  report(key: string, isPending: boolean): void {
    if (isPending) this.#members.set(key, performance.now() + LONGEST_PENDING_MS);
    else if (this.#members.has(key)) this.#members.set(key, performance.now() + QUIET_MS);
    this.#schedule();
  }

  deferralMs(key: string): number {
    const now = performance.now();
    const since = this.#deferred.get(key) ?? now;
    const restMs = since + LONGEST_DEFERRAL_MS - now;
    if (restMs <= 0 || !this.#isBurst()) {
      this.#deferred.delete(key);
      return 0;
    }
    this.#deferred.set(key, since);
    this.#schedule();
    return restMs;
  }

  forget(key: string): void {
    this.#deferred.delete(key);
    this.#members.delete(key);
    this.#schedule();
  }

  stop(): void {
    this.#deferred.clear();
    clearTimeout(this.#timer);
  }

  #isBurst(): boolean {
    const now = performance.now();
    for (const [member, until] of this.#members) if (until <= now) this.#members.delete(member);
    return this.#members.size >= SMALLEST_BURST;
  }

  /** Resumes the deferred definitions when no definition is part of the burst anymore. */
  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#deferred.size === 0) return;
    const endMs = Math.max(0, ...this.#members.values()) - performance.now();
    this.#timer = setTimeout(() => this.#end(), Math.max(0, Math.ceil(endMs)));
    this.#timer.unref();
  }

  #end(): void {
    // A timer can be early by a fraction of a millisecond.
    this.#members.clear();
    const keys = [...this.#deferred.keys()];
    this.#deferred.clear();
    for (const key of keys) this.#resume(key);
  }
}
