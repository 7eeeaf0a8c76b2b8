/** How many lines of a kind are logged in a period, and its length. */
export interface SamplerOptions {
  /** Receives the number of lines of a kind that a period omitted. */
  readonly onOmitted: (kind: string, omitted: number, periodMs: number) => void;
  readonly linesPerPeriod?: number;
  /** Milliseconds. */
  readonly periodMs?: number;
}

// Enough to see what callers do wrong.
const LINES_PER_PERIOD = 10;
const PERIOD_MS = 10_000;

/**
 * Bounds log lines that callers can cause at will: the first few of each kind in a period are logged, and the number
 * of the others at its end.
 */
export class LogSampler {
  readonly #options: Required<SamplerOptions>;
  readonly #counts = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SamplerOptions) {
    this.#options = { linesPerPeriod: LINES_PER_PERIOD, periodMs: PERIOD_MS, ...options };
  }

  /** Whether to log one more line. @param kind one of a few, such as an error code */
  admits(kind: string): boolean {
    const { linesPerPeriod, periodMs } = this.#options;
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    // Without a line nothing keeps the process alive.
    this.#timer ??= setTimeout(() => this.flush(), periodMs).unref();
    return count <= linesPerPeriod;
  }

  /** Ends the period: reports what it omitted. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { linesPerPeriod, onOmitted, periodMs } = this.#options;
    for (const [kind, count] of this.#counts)
      if (count > linesPerPeriod) onOmitted(kind, count - linesPerPeriod, periodMs);
    this.#counts.clear();
  }
}
