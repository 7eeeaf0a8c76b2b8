import fc from "fast-check";
import { isTypedError } from "../vectors/adapter.ts";
import type { Target } from "./target.ts";

/** The most time of an input, far above normal times. */
export const MAX_MS = 100;
/** A busy machine can slow down any run, so only an input that is slow in each rerun counts. */
const RERUNS = 5;
const RERUN_MS = 10;

/** The result of fuzzing one target. */
export interface TargetResult {
  runs: number;
  /** The number of inputs that caused a typed error. */
  refused: number;
  /** The slowest input in milliseconds: the fastest of its runs. */
  slowestMs: number;
  slowest: string;
  /** The failure: the seed, the path and the smallest input. */
  failure?: string;
}

/** The number of runs, and the seed. */
export interface FuzzOptions {
  runs: number;
  seed: number;
  /** The path of fast-check that repeats one failure. */
  path?: string | undefined;
  /** The most time of an input in milliseconds. Default {@link MAX_MS}. */
  maxMs?: number | undefined;
  /** Called before each run, so that another thread can detect one that does not end. */
  onRun?: (run: number) => void;
}

/** Feeds a target `runs` inputs. */
export function fuzz(target: Target, options: FuzzOptions): TargetResult {
  const { maxMs = MAX_MS } = options;
  const result: TargetResult = { runs: 0, refused: 0, slowestMs: 0, slowest: "" };
  const property = fc.property(target.input, (input) => {
    options.onRun?.(result.runs);
    result.runs++;
    const first = once(target, input);
    let { ms } = first;
    for (let rerun = 0; rerun < RERUNS && ms > RERUN_MS; rerun++) ms = Math.min(ms, once(target, input).ms);
    if (first.refused) result.refused++;
    if (ms > result.slowestMs) {
      result.slowestMs = ms;
      result.slowest = describe(input);
    }
    if (ms > maxMs) throw new Error(`took ${Math.round(ms)} ms in the fastest of ${RERUNS + 1} runs`);
  });
  const details = fc.check(property, {
    numRuns: options.runs,
    seed: options.seed,
    ...(options.path !== undefined && { path: options.path }),
  });
  if (details.failed) {
    const thrown = details.errorInstance;
    const stack = thrown instanceof Error ? (thrown.stack ?? String(thrown)) : String(thrown);
    result.failure = [
      `seed ${details.seed}, path ${details.counterexamplePath}, after ${details.numRuns} runs`,
      `input: ${describe(details.counterexample?.[0])}`,
      stack.split("\n").slice(0, 8).join("\n"),
    ].join("\n");
  }
  return result;
}

function once(target: Target, input: unknown): { ms: number; refused: boolean } {
  const began = performance.now();
  let refused = false;
  try {
    target.run(input);
  } catch (error) {
    if (!isTypedError(error)) throw error;
    refused = true;
  }
  return { ms: performance.now() - began, refused };
}

/** Prints an input, cut to a maximum. The seed reproduces it. */
function describe(input: unknown): string {
  const text = fc.stringify(input);
  return text.length > 8000 ? `${text.slice(0, 8000)}... (${text.length} characters)` : text;
}
