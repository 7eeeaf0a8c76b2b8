import { createRunner, type Runner } from "@xfn/runner";
import type { FunctionRunner } from "@xfn/runner-contract";
import { type RegistryFlags, registryOptions } from "../flags/registry-flags.ts";
import { explainImageError } from "../store/explain-image-error.ts";
import { openImageStore } from "../store/open-store.ts";
import { withElapsedTime } from "../terminal/elapsed-time.ts";
import type { Output } from "../terminal/output.ts";
import { pullProgress } from "../terminal/pull-progress.ts";
import { warning } from "../terminal/warning.ts";
import { CallProgress } from "./call-progress.ts";

/** How to make root filesystems of containers. */
export type RootfsMode = "auto" | "overlay" | "copy";

/** The options that `render` and `run` share. */
export interface RunnerFlags extends RegistryFlags {
  readonly allowUnlimited?: boolean;
  /** Whether functions of type Chroot may run. */
  readonly allowChroot?: boolean;
  readonly ociRuntime?: string;
  readonly registry?: string;
  readonly rootfs?: RootfsMode;
  readonly cacheDir?: string;
  /** Bytes. */
  readonly maxOutput?: number;
}

/**
 * Opens a runner with the store of the flags, and starts to make its namespaces. The caller closes it.
 *
 * @throws CliError `Usage` for an invalid registry, `Failed` if the store cannot be opened
 */
export async function openRunner(flags: RunnerFlags, output: Output): Promise<Runner> {
  const registries = registryOptions(flags);
  const store = await openImageStore(flags.cacheDir);
  const runner = createRunner({
    store,
    rootfs: flags.rootfs,
    allowUnlimited: flags.allowUnlimited,
    allowChroot: flags.allowChroot,
    ociRuntime: flags.ociRuntime,
    maxOutputBytes: flags.maxOutput,
    images: { onProgress: pullProgress(output), defaultRegistry: flags.registry, ...registries },
    // `xfn doctor` reports problems of the host, so that each run need not.
    onWarning: (message, about) => {
      if (about !== "host") output.note(warning(message));
    },
  });
  prepareEarly(runner);
  return runner;
}

/** Opens a runner for `work` and always closes it, so that no container, mount or folder remains. */
export async function withRunner<T>(
  flags: RunnerFlags,
  output: Output,
  work: (runner: FunctionRunner) => Promise<T>,
): Promise<T> {
  const progress = new CallProgress();
  return withElapsedTime(output, progress.title, async (shown) => {
    const runner = await openRunner(flags, shown);
    try {
      return await work(progress.observe(runner));
    } catch (error) {
      throw explainImageError(error);
    } finally {
      await runner.close();
    }
  });
}

// Makes the namespaces while code is loaded and files are read. The first call reports what the host lacks, so that
// errors in the input are reported first.
function prepareEarly(runner: Runner): void {
  try {
    runner.prepare();
  } catch {
    // The first call tries again and reports the error.
  }
}
