/** One measured figure: printed as one JSON line, and collected for docs/contributing/benchmarks.md. */
export interface Figure {
  /** Stable name, such as `call/busybox`. */
  name: string;
  /** Our median, in `unit`. */
  value: number;
  unit: "ms" | "us" | "MB" | "MB/s" | "calls/s" | "requests" | "processes" | "times" | "% of a core";
  /** Number of runs of the median. */
  runs: number;
  /** The peer, measured in the same run. */
  peer?: { name: string; value: number };
  /** Our figure divided by the peer's. For interleaved runs, the median of the pairwise ratios. */
  ratio?: number;
  /** Upper bound of the ratio, or of the value if there is no peer. */
  goal?: number;
  /** Whether the goal is a lower bound. */
  atLeast?: boolean;
}

/** Prints a figure as one JSON line on stdout. */
export function report(figure: Figure): void {
  const rounded = { ...figure, value: round(figure.value) };
  if (figure.peer !== undefined) rounded.peer = { ...figure.peer, value: round(figure.peer.value) };
  if (figure.ratio !== undefined) rounded.ratio = round(figure.ratio);
  const measured = figure.ratio ?? figure.value;
  const { goal, atLeast = false } = figure;
  const met = goal === undefined ? undefined : atLeast ? measured >= goal : measured <= goal;
  console.log(JSON.stringify({ ...rounded, met }));
}

/** Returns the median of a list of numbers. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle];
  if (upper === undefined) throw new Error("no values to take the median of");
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] as number)) / 2;
}

/**
 * Alternates two measurements, A B, B A, ..., so that a drifting machine favours neither. Times are in milliseconds.
 */
export async function interleave(
  runs: number,
  ours: () => Promise<number>,
  peer: () => Promise<number>,
): Promise<{ ours: number; peer: number; ratio: number }> {
  await peer();
  await ours();
  const pairs: [number, number][] = [];
  for (let run = 0; run < runs; run++) {
    if (run % 2 === 0) {
      const a = await ours();
      pairs.push([a, await peer()]);
    } else {
      const b = await peer();
      pairs.push([await ours(), b]);
    }
  }
  return {
    ours: median(pairs.map(([a]) => a)),
    peer: median(pairs.map(([, b]) => b)),
    ratio: median(pairs.map(([a, b]) => a / b)),
  };
}

/** Measures a function, in milliseconds. */
export async function timed(work: () => unknown): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function round(value: number): number {
  return Number(value.toPrecision(4));
}
