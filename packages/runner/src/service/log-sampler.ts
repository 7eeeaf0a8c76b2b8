/** The number of lines of a kind to log in a period, and the length of the period. */
export interface SamplerOptions {
  /** Called with the number of lines of a kind that were omitted in a period. */
  readonly onOmitted: (kind: string, omitted: number, periodMs: number) => void;
  readonly linesPerPeriod?: number;
  /** In milliseconds. */
  readonly periodMs?: number;
}

// Enough to see the mistakes of callers.
const LINES_PER_PERIOD = 10;
const PERIOD_MS = 10_000;

/**
 * Limits log lines that callers can cause at will. Logs the first few lines of each kind in a period, and the number of
 * the others at its end.
 */
export class LogSampler {
  readonly #options: Required<SamplerOptions>;
  readonly #counts = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SamplerOptions) {
    this.#options = { linesPerPeriod: LINES_PER_PERIOD, periodMs: PERIOD_MS, ...options };
  }

  /** Whether to log one more line. @param kind one of a few values, such as an error code */
  admits(kind: string): boolean {
    const { linesPerPeriod, periodMs } = this.#options;
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    // An idle sampler must not keep the process running.
    this.#timer ??= setTimeout(() => this.flush(), periodMs).unref();
    return count <= linesPerPeriod;
  }

  /** Ends the period and reports the number of omitted lines. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { linesPerPeriod, onOmitted, periodMs } = this.#options;
    for (const [kind, count] of this.#counts)
      if (count > linesPerPeriod) onOmitted(kind, count - linesPerPeriod, periodMs);
    this.#counts.clear();
  }
}
