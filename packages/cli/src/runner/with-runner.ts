import { createRunner, type Runner } from "@xfn/runner";
import { type RegistryFlags, registryOptions } from "../flags/registry-flags.ts";
import { explainImageError } from "../store/explain-image-error.ts";
import { openImageStore } from "../store/open-store.ts";
import type { Output } from "../terminal/output.ts";
import { pullProgress } from "../terminal/pull-progress.ts";
import { warning } from "../terminal/warning.ts";

/** How root file systems of containers are made. */
export type RootfsMode = "auto" | "overlay" | "copy";

/** The options that `render` and `run` share. */
export interface RunnerFlags extends RegistryFlags {
  readonly allowUnlimited?: boolean;
  readonly registry?: string;
  readonly rootfs?: RootfsMode;
  readonly cacheDir?: string;
}

/**
 * A runner with the store of the flags, its namespaces in the making. Whoever opens it closes it.
 *
 * @throws CliError `Usage` for a registry that is none, `Failed` where images cannot be kept
 */
export async function openRunner(flags: RunnerFlags, output: Output): Promise<Runner> {
  const registries = registryOptions(flags);
  const store = await openImageStore(flags.cacheDir);
  const runner = createRunner({
    store,
    ...(flags.rootfs === undefined ? {} : { rootfs: flags.rootfs }),
    ...(flags.allowUnlimited === undefined ? {} : { allowUnlimited: flags.allowUnlimited }),
    images: {
      onProgress: pullProgress(output),
      ...(flags.registry === undefined ? {} : { defaultRegistry: flags.registry }),
      ...registries,
    },
    // What is wrong with the machine, `xfn doctor` tells: not each run.
    onWarning: (message, about) => {
      if (about !== "host") output.note(warning(message));
    },
  });
  prepareEarly(runner);
  return runner;
}

/** Gives `work` a runner and closes it afterwards, whatever happened: no container, mount or folder is left. */
export async function withRunner<T>(
  flags: RunnerFlags,
  output: Output,
  work: (runner: Runner) => Promise<T>,
): Promise<T> {
  const runner = await openRunner(flags, output);
  try {
    return await work(runner);
  } catch (error) {
    throw explainImageError(error);
  } finally {
    await runner.close();
    output.status(undefined);
  }
}

// The namespaces are made while code is loaded and files are read. What this host lacks is told by the first call, so that faults of the
// input come first.
function prepareEarly(runner: Runner): void {
  try {
    runner.prepare();
  } catch {
    // The first call tries again and reports it.
  }
}
