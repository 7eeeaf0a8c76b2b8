import type { DefinitionBursts } from "../objects/context.ts";

/** Fewer definitions cost little, so their users get their rights as soon as the definition is established. */
const SMALLEST_BURST = 10;
/**
 * The time for which a burst lasts after its last definition has its CRDs. `kubectl apply` sends the next one sooner.
 */
const QUIET_MS = 1_000;
/** A definition that waits longer than this for its CRD no longer defers the roles of others. */
const LONGEST_PENDING_MS = 15_000;
/** Limits the wait of users for their rights while more definitions arrive. All deferred roles are then written. */
const LONGEST_DEFERRAL_MS = 30_000;

/**
 * Defers the ClusterRoles of definitions while many definitions wait for their CRDs.
 *
 * Kubernetes adds each role to admin, edit and view, and writes those again for every new role. If the roles of n
 * definitions are written between the CRDs of a burst, they cost n writes of up to n rules. If they are written
 * together after the burst, most of them share a write.
 *
 * The state only defers writes: after a crash, the first reconciles write the missing roles.
 */
export class DefinitionBurst implements DefinitionBursts {
  readonly #resume: (key: string) => void;
  /** The time until which each definition is part of the burst, by `performance.now()`. */
  readonly #members: Map<string, number> = new Map();
  /** The definitions whose roles are deferred, which are written together. */
  readonly #deferred: Set<string> = new Set();
  /** The time when the first of these was deferred. */
  #since = 0;
  /** The definitions that may write their roles now, even if the burst continues. */
  readonly #resumed: Set<string> = new Set();
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
    if (this.#resumed.delete(key) || !this.#isBurst()) {
      this.#deferred.delete(key);
      return 0;
    }
    if (this.#deferred.size === 0) this.#since = performance.now();
    this.#deferred.add(key);
    this.#schedule();
    return this.#leftMs();
  }

  forget(key: string): void {
    for (const keys of [this.#deferred, this.#members, this.#resumed]) keys.delete(key);
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

  /** The time in milliseconds for which the deferred definitions wait if the burst does not end earlier. */
  #leftMs(): number {
    return Math.max(0, this.#since + LONGEST_DEFERRAL_MS - performance.now());
  }

  /** Resumes the deferred definitions when no definition is part of the burst, or when they have waited too long. */
  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#deferred.size === 0) return;
    const burstMs = Math.max(0, Math.max(0, ...this.#members.values()) - performance.now());
    this.#timer = setTimeout(() => this.#end(), Math.ceil(Math.min(burstMs, this.#leftMs())));
    this.#timer.unref();
  }

  #end(): void {
    const keys = [...this.#deferred];
    this.#deferred.clear();
    for (const key of keys) {
      this.#resumed.add(key);
      this.#resume(key);
    }
  }
}
