/** How long good calls took, in milliseconds. */
export interface Latencies {
  /** Calls at the start, before any faulty calls. */
  readonly quiet: readonly number[];
  /** Calls during faulty ones. */
  readonly good: readonly number[];
}

/** The percentiles of good calls, and the 99th divided by that of quiet calls. */
export function summaryOf({ quiet, good }: Latencies): Readonly<Record<string, number>> {
  const [quietP99, p99] = [percentile(quiet, 99), percentile(good, 99)];
  return {
    goodCalls: good.length,
    p50Ms: rounded(percentile(good, 50)),
    p99Ms: rounded(p99),
    quietCalls: quiet.length,
    quietP50Ms: rounded(percentile(quiet, 50)),
    quietP99Ms: rounded(quietP99),
    p99Ratio: rounded(p99 / quietP99),
  };
}

/** The value that so many of 100 do not exceed. */
function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(Math.ceil((percent / 100) * sorted.length) - 1, 0)] ?? Number.NaN;
}

function rounded(value: number): number {
  return Number(value.toPrecision(3));
}
