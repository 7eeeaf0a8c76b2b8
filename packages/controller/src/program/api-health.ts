import type { RequestOutcome } from "@xfn/kubernetes";

// A server that restarts is unavailable for some seconds.
const SILENT_MS = 30_000;
// A request that the controller itself aborts has no answer either.
const MIN_UNANSWERED = 3;

/** Recognizes an API server that does not answer, by the outcomes of all requests. */
export class ApiHealth {
  readonly #now: () => number;
  /** The time of the first request without an answer since the last answer. */
  #silentSince: number;
  #unanswered = 0;

  /** @param now milliseconds */
  constructor(now: () => number) {
    this.#now = now;
    this.#silentSince = now();
  }

  readonly requested = ({ status }: Pick<RequestOutcome, "status">): void => {
    if (status === 0) {
      if (this.#unanswered++ === 0) this.#silentSince = this.#now();
      return;
    }
    this.#unanswered = 0;
  };

  /** A message about an API server that does not answer; undefined if it does. */
  get problem(): string | undefined {
    const silentMs = this.#now() - this.#silentSince;
    if (this.#unanswered < MIN_UNANSWERED || silentMs < SILENT_MS) return undefined;
    return `the API server has not answered for ${Math.round(silentMs / 1000)} s`;
  }
}
