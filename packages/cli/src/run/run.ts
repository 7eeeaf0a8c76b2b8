import { STDIN } from "@xfn/input";
import { ExitCode } from "@xfn/program/exit-code";
import type { RunOptions } from "@xfn/runner-contract";
import { absoluteImage, isFolder } from "../input/absolute-image.ts";
import { type RecordOptions, withRecording } from "../runner/with-recording.ts";
import { type RunnerFlags, withRunner } from "../runner/with-runner.ts";
import { interruptible } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";

/** Flags of `xfn run`, as commander parsed them. */
export interface RunFlags extends RunnerFlags, RecordOptions {
  /** The limit for the function, in milliseconds. */
  readonly timeout?: number;
  readonly type?: RunOptions["type"];
  readonly network?: "Isolated" | "Accessible" | undefined;
  /** Bytes. */
  readonly memory?: number;
  /** Cores. */
  readonly cpu?: number;
  readonly pull?: "IfNotPresent" | "Always" | "Never" | undefined;
  readonly output: "json" | "yaml";
}

/** `xfn run`: calls one function, checks its FunctionIO and prints it. Exit code 1 for a fatal result. */
export async function runFunction(image: string, file: string, flags: RunFlags, output: Output): Promise<number> {
  return interruptible(async (signal) => {
    const folder = absoluteImage(image, STDIN);
    if (isFolder(folder)) {
      const { buildFolderImage } = await import("../build/folder-image.ts");
      const name = await buildFolderImage(folder, { cacheDir: flags.cacheDir, output, signal });
      // No registry has the image.
      return callAndPrint(name, file, { ...flags, pull: "Never" }, output, signal);
    }
    return callAndPrint(image, file, flags, output, signal);
  });
}

async function callAndPrint(
  image: string,
  file: string,
  flags: RunFlags,
  output: Output,
  signal: AbortSignal,
): Promise<number> {
  const returned = await withRunner({ ...flags, allowChroot: flags.type === "Chroot" }, output, async (runner) => {
    // Loads while the runner makes its namespaces.
    const { callFunction } = await import("./call-function.ts");
    return withRecording({}, flags, output, { runner }, (callers) =>
      callFunction(callers.runner, image, file, runOptions(flags, signal), flags.output),
    );
  });
  for (const note of returned.notes) output.note(note);
  await output.product(returned.product);
  return returned.isFatal ? ExitCode.failed : ExitCode.ok;
}

function runOptions(flags: RunFlags, signal: AbortSignal): RunOptions {
  const { type, timeout: timeoutMs, network, memory: memoryBytes, cpu: cpus, pull: pullPolicy } = flags;
  return { signal, type, timeoutMs, network, memoryBytes, cpus, pullPolicy };
}
