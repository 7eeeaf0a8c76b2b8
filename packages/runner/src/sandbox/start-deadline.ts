import { onAbort } from "@xfn/lifetime";
import { RunnerError } from "@xfn/runner-contract";

/** The phases before a function runs. */
type EarlyPhase = "pull" | "start";

/**
 * Ends a call that gets no sandbox in time, or whose caller has gone: a registry may send a byte at a time, and a
 * container may never start. The pending work continues, and its result is discarded.
 */
export class StartDeadline {
  readonly #aborter = new AbortController();
  readonly #over = Promise.withResolvers<never>();
  readonly #forget: () => void;
  readonly #timer: NodeJS.Timeout | undefined;
  #phase: EarlyPhase = "pull";
  #error: RunnerError | undefined;

  /** @param ms time until {@link met}, in milliseconds; undefined for no limit */
  constructor(ms: number | undefined, caller: AbortSignal | undefined) {
    this.#over.promise.catch(() => undefined);
    if (ms !== undefined) this.#timer = setTimeout(() => this.#end(tooLate(this.#phase, ms)), ms);
    this.#forget = onAbort(caller, () =>
      this.#end(new RunnerError("Aborted", "the call was cancelled", { phase: this.#phase })),
    );
  }

  /** Aborted when the deadline has passed or the caller has gone. */
  get signal(): AbortSignal {
    return this.#aborter.signal;
  }

  /**
   * Waits for a result.
   *
   * @param abandon receives a result that arrives too late
   * @throws RunnerError `Timeout`, `Aborted`, or the error of `work`
   */
  async within<T>(phase: EarlyPhase, work: Promise<T>, abandon: (late: T) => void = () => undefined): Promise<T> {
    this.#phase = phase;
    try {
      return await Promise.race([work, this.#over.promise]);
    } catch (error) {
      if (this.#error === undefined) throw error;
      work.then(abandon, () => undefined);
      throw this.#error;
    }
  }

  /** @throws RunnerError if the deadline has passed or the caller has gone */
  check(): void {
    if (this.#error !== undefined) throw this.#error;
  }

  /** The call has its sandbox, or has failed: from now on the timeout of its function applies. */
  met(): void {
    clearTimeout(this.#timer);
    this.#forget();
  }

  #end(error: RunnerError): void {
    this.#error ??= error;
    this.#over.reject(this.#error);
    this.#aborter.abort();
  }
}

function tooLate(phase: EarlyPhase, ms: number): RunnerError {
  const missing = phase === "pull" ? "its image was not pulled" : "its container was not started";
  const message = `${missing} within ${ms / 1000} s of the call (--start-timeout); try again, or pull the image before`;
  return new RunnerError("Timeout", message, { phase });
}
