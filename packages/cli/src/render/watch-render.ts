import { setTimeout as sleep } from "node:timers/promises";
import { STDIN } from "@xfn/input";
import { ExitCode } from "@xfn/program/exit-code";
import { usageError } from "../errors/cli-error.ts";
import { colours } from "../terminal/colours.ts";
import { describeError } from "../terminal/describe-error.ts";
import type { Output } from "../terminal/output.ts";
import { fingerprint } from "./fingerprint.ts";
import type { InputPath } from "./input-paths.ts";
import { lineDifference } from "./line-difference.ts";
import type { Rendered } from "./run-plan.ts";

// Polls, because editors replace files instead of writing to them, and because network file systems report no changes.
const POLL_MS = 300;

/**
 * `xfn render --watch`: renders again after each change of a file, and prints the difference to the last result. A run
 * that fails is reported, and the watch continues.
 *
 * @param paths - the files that the command line names
 * @param render - renders once; calls `onFolder` with each function's folder that it builds
 * @returns when `interrupt` aborts, by rejecting
 * @throws CliError `Usage` if a file is stdin
 */
export async function watchRender(
  paths: readonly InputPath[],
  output: Output,
  render: (onFolder: (folder: string) => void) => Promise<Rendered>,
  interrupt: AbortSignal,
): Promise<number> {
  const named = paths.map(({ path }) => path);
  if (named.includes(STDIN)) throw usageError("--watch requires files: stdin (-) can be read only once");
  let folders: readonly string[] = [];
  let printed: string | undefined;
  while (!interrupt.aborted) {
    // Taken before each read, so that a change during a run starts the next one.
    const seen = new Map([...named, ...folders].map((path) => [path, fingerprint(path)]));
    const built: string[] = [];
    const rendered = await attempt(output, interrupt, () =>
      render((folder) => {
        built.push(folder);
        if (!seen.has(folder)) seen.set(folder, fingerprint(folder));
      }),
    );
    if (rendered !== undefined) {
      folders = built;
      for (const note of rendered.notes) output.note(note);
      printed = await printChange(printed, rendered.product, output);
    }
    output.note("xfn: watching the files; Ctrl-C ends");
    await change(seen, interrupt);
  }
  return ExitCode.ok;
}

async function attempt<T>(output: Output, interrupt: AbortSignal, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    interrupt.throwIfAborted();
    for (const line of describeError(error, (process.env["XFN_DEBUG"] ?? "") !== "").lines) output.note(line);
    return undefined;
  }
}

async function printChange(before: string | undefined, after: string, output: Output): Promise<string> {
  if (before === undefined) {
    await output.product(after);
    return after;
  }
  const paint = colours(process.stdout);
  const difference = lineDifference(before, after, { removed: paint.red, added: paint.green, title: paint.cyan });
  if (difference === "") output.note("xfn: rendered again: no difference");
  else await output.product(difference);
  return after;
}

async function change(seen: ReadonlyMap<string, string>, interrupt: AbortSignal): Promise<void> {
  while ([...seen].every(([path, before]) => fingerprint(path) === before)) {
    await sleep(POLL_MS, undefined, { signal: interrupt });
  }
}
