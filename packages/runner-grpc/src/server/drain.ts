import { RunnerGrpcError } from "../wire/runner-grpc-error.ts";
import type { Admission } from "./admission.ts";

// A runner kills and reaps a container within 2 s, as the end-to-end tests require; the rest is a margin.
const SETTLE_MS = 5_000;

/** Ends the calls of a server at its stop. */
export class Drain {
  readonly active: Set<AbortController> = new Set();
  readonly #admission: Admission;
  readonly #graceEnded = Promise.withResolvers<void>();
  #onIdle: (() => void) | undefined;

  constructor(admission: Admission) {
    this.#admission = admission;
  }

  refuse(): void {
    const stopping = "this runner is stopping; use another one, or try again";
    this.#admission.close(new RunnerGrpcError("Closed", stopping, { retryAfterMs: 1_000, undelivered: true }));
  }

  /**
   * Waits for running calls, and ends those still running after `graceMs` (`Closed`). Resolves once all have ended, or
   * a few seconds after their signals were aborted.
   */
  async end(graceMs: number): Promise<void> {
    await within(graceMs, Promise.race([this.#idle(), this.#graceEnded.promise]));
    const reason = new RunnerGrpcError("Closed", "this runner was stopped while the function ran");
    for (const aborter of this.active) aborter.abort(reason);
    await within(SETTLE_MS, this.#idle());
  }

  /** Ends the grace period of {@link end}, even if {@link end} is called later. */
  endGrace(): void {
    this.#graceEnded.resolve();
  }

  /** Checks whether any calls are left. Call it whenever a call has ended. */
  check(): void {
    if (this.active.size === 0 && this.#admission.empty) this.#onIdle?.();
  }

  /** Resolves once no call is left. */
  #idle(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onIdle = resolve;
    this.check();
    return promise;
  }
}

/** Waits for a promise, but at most `ms` milliseconds. */
export async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([promise, late]);
  clearTimeout(timer);
}
