import { sleep } from "@xfn/lifetime";
import { isApiError } from "../client/api-error.ts";
import type { LiveObject } from "../client/client.ts";
import type { LeaseRecords } from "./lease-record.ts";

/** The right to lead, until `lost` aborts. */
export interface LeaderLease {
  /**
   * Aborts when the lease could not be renewed in time, when another process has acquired it, and on `release`. After
   * failed renewals it aborts a third of the lease before another process may acquire it. The leader must then stop its
   * work.
   */
  readonly lost: AbortSignal;
  /** Whether the lease is valid by the clock. In a process that was suspended, it is false before `lost` can abort. */
  readonly valid: boolean;
  /** Lets another process lead at once. Call it after the work has ended. Never fails. */
  release(): Promise<void>;
}

export interface LeaseOptions {
  readonly identity: string;
  readonly retryMs: number;
  /** How long the leader works on without a renewal. */
  readonly deadlineMs: number;
  readonly onError: (error: unknown) => void;
}

/** A lease that this process has acquired. It renews itself until it is lost or released. */
export class AcquiredLease implements LeaderLease {
  readonly #records: LeaseRecords;
  readonly #options: LeaseOptions;
  readonly #lost = new AbortController();
  readonly #renewing: Promise<void>;
  #lease: LiveObject;
  // From before the request was sent, because other processes count from after the server executed it.
  #renewedAt: number;
  #deadline: NodeJS.Timeout | undefined;

  /** @param acquiredAt {@link leaderClock} before the request that acquired it */
  constructor(records: LeaseRecords, lease: LiveObject, acquiredAt: number, options: LeaseOptions) {
    this.#records = records;
    this.#lease = lease;
    this.#renewedAt = acquiredAt;
    this.#options = options;
    this.#watchDeadline();
    this.#renewing = this.#keepRenewing();
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  get valid(): boolean {
    return !this.lost.aborted && this.#remainingMs() > 0;
  }

  async release(): Promise<void> {
    const owned = !this.lost.aborted;
    this.#lose("was released");
    await this.#renewing;
    if (!owned) return;
    const { deadlineMs, onError } = this.#options;
    await this.#records.release(this.#lease, AbortSignal.timeout(deadlineMs)).catch(onError);
  }

  #remainingMs(): number {
    return this.#renewedAt + this.#options.deadlineMs - leaderClock();
  }

  #lose(why: string): void {
    clearTimeout(this.#deadline);
    const { namespace, name } = this.#records.reference;
    this.#lost.abort(new Error(`the lease ${namespace}/${name} ${why}`));
  }

  /** Checks the clock again when the timer fires, because renewals postpone the deadline. */
  #watchDeadline(): void {
    if (this.lost.aborted) return;
    const ms = this.#remainingMs();
    if (ms <= 0) this.#lose(`could not be renewed for ${this.#options.deadlineMs / 1000} s`);
    else this.#deadline = setTimeout(() => this.#watchDeadline(), ms);
  }

  async #keepRenewing(): Promise<void> {
    while (!this.lost.aborted) {
      await sleep(this.#options.retryMs, this.lost).catch(() => undefined);
      if (this.lost.aborted) return;
      await this.#renew().catch((error: unknown) => {
        // Another process created the Lease after we found none.
        if (isApiError(error, "AlreadyExists")) this.#lose("was acquired by another process");
        else if (!this.lost.aborted) this.#options.onError(error);
      });
    }
  }

  async #renew(): Promise<void> {
    const { identity, onError } = this.#options;
    const sentAt = leaderClock();
    const signal = AbortSignal.any([this.lost, AbortSignal.timeout(Math.max(1, Math.ceil(this.#remainingMs())))]);
    try {
      this.#lease = await this.#records.renew(this.#lease, identity, signal);
      this.#renewedAt = sentAt;
    } catch (error) {
      if (this.lost.aborted) return;
      if (!isApiError(error, "Conflict", "NotFound")) return onError(error);
      await this.#resolveConflict(sentAt, signal);
    }
  }

  /** Another writer changed or deleted the Lease, or an earlier renewal succeeded without a response. */
  async #resolveConflict(sentAt: number, signal: AbortSignal): Promise<void> {
    const { identity } = this.#options;
    const found = await this.#records.find(signal);
    if (found === undefined) {
      this.#lease = await this.#records.acquire(undefined, identity, signal);
      this.#renewedAt = sentAt;
    } else if (this.#records.read(found).holder === identity) this.#lease = found;
    else this.#lose("was acquired by another process");
  }
}

/**
 * The leader's clock, in milliseconds. It advances while the machine sleeps, unlike the steady clock, and never goes
 * back, unlike the wall clock. If the wall clock is set forward, the leader loses the lease early, which is safe.
 * Candidates use the steady clock, because an early end would not be safe for them.
 */
export function leaderClock(): number {
  const steady = performance.now();
  ahead = Math.max(ahead, Date.now() - steady);
  return steady + ahead;
}
let ahead = Number.NEGATIVE_INFINITY;
