import fc from "fast-check";
import { isTypedError } from "../vectors/adapter.ts";
import type { Target } from "./target.ts";

/** No input may take longer; far above what any takes, so that only what does not end in time is found. */
export const MAX_MS = 100;
/** A busy machine makes anything slow now and then, and a rerun fast again; what is slow by itself is slow each time. */
const RERUNS = 5;
const RERUN_MS = 10;

/** What came of fuzzing one target. */
export interface TargetResult {
  runs: number;
  /** How many inputs were answered by a typed error. */
  refused: number;
  /** The slowest run, in milliseconds: of an input that was run again, the fastest of its runs. */
  slowestMs: number;
  slowest: string;
  /** What was found: the seed, the path and the smallest input, in words. */
  failure?: string;
}

/** How often, and from which seed. */
export interface FuzzOptions {
  runs: number;
  seed: number;
  /** Of fast-check: repeats one failure. */
  path?: string | undefined;
  /** The time that an input may take, in milliseconds; default {@link MAX_MS}. */
  maxMs?: number | undefined;
  /** Told before each run, so that another thread sees one that does not end. */
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

/** An input in text; a long one is cut, as the seed makes it again. */
function describe(input: unknown): string {
  const text = fc.stringify(input);
  return text.length > 8000 ? `${text.slice(0, 8000)}... (${text.length} characters)` : text;
}
