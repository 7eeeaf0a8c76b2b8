import { CodedError } from "@xfn/errors";
/** Work exceeded its time. */
export class TimeLimitError extends CodedError<"TimeLimitExceeded"> {
  override readonly name = "TimeLimitError";
  /** The same work can take less time later. */
  override readonly retryable = true;

  constructor(message: string, options?: ErrorOptions) {
    super("TimeLimitExceeded", message, options);
  }
}

/** Milliseconds that several pieces of work share. Time between them does not count. */
export class TimeLimit {
  #leftMs: number;

  constructor(ms: number) {
    this.#leftMs = ms;
  }

  /**
   * Runs a piece of work with a signal that aborts when no time is left, or when the given signal aborts.
   *
   * @throws {TimeLimitError} if no time is left; otherwise the error of the work
   */
  async within<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    // A timer of 0 would fire only after work that needs no time.
    const over = AbortSignal.timeout(Math.max(1, Math.ceil(this.#leftMs)));
    const started = performance.now();
    try {
      return await work(signal === undefined ? over : AbortSignal.any([signal, over]));
    } catch (cause) {
      if (!over.aborted || signal?.aborted === true) throw cause;
      throw new TimeLimitError("no time is left", { cause });
    } finally {
      this.#leftMs -= performance.now() - started;
    }
  }
}
