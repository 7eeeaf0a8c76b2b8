import { hasLocationPrefix, parseReference } from "@xfn/oci-rootfs/image-name";
import { ExitCode } from "@xfn/program/exit-code";
import { oneLine } from "@xfn/program/terminal-text";
import { usageError } from "../errors/cli-error.ts";
import { platformOption, type RegistryFlags, registryOptions } from "../flags/registry-flags.ts";
import { explainImageError } from "../store/explain-image-error.ts";
import { openImageStore } from "../store/open-store.ts";
import { withElapsedTime } from "../terminal/elapsed-time.ts";
import { interruptible } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";
import { pullProgress } from "../terminal/pull-progress.ts";
import { nameWithDigest } from "./name-with-digest.ts";

/** Flags of `xfn copy` and `xfn push`, as commander parsed them. */
export interface CopyFlags extends RegistryFlags {
  readonly platform?: string;
  /** A repository that may have some of the layers. */
  readonly mountFrom?: string;
  /** Bytes. */
  readonly chunkSize?: number;
  readonly cacheDir?: string;
}

/** `xfn copy`: copies an image. Prints `NAME@DIGEST` of the copy. */
export async function runCopy(
  from: string,
  to: string,
  flags: CopyFlags,
  output: Output,
  verbs: readonly [string, string] = ["copying", "copied"],
): Promise<number> {
  const registries = registryOptions(flags);
  const platform = flags.platform === undefined ? undefined : platformOption(flags.platform);
  return interruptible(async (signal) => {
    const { copyImage } = await import("@xfn/oci-rootfs/registry");
    try {
      const title = `${verbs[0]} ${oneLine(from.replace(/^store:/, ""), 200)} to ${oneLine(to, 200)}`;
      const copied = await withElapsedTime(output, title, async (shown) =>
        copyImage({
          ...registries,
          from,
          to,
          store: await openImageStore(flags.cacheDir),
          platform,
          mountFrom: flags.mountFrom,
          chunkBytes: flags.chunkSize,
          onProgress: pullProgress(shown, Date.now, () => verbs),
          signal,
        }),
      );
      if (copied.onlyPlatform !== undefined)
        output.note(
          `xfn: ${oneLine(from, 200)} is an index, but the store has only ${copied.onlyPlatform}: ${verbs[1]} that image alone`,
        );
      await output.product(`${nameWithDigest(copied)}\n`);
      return ExitCode.ok;
    } catch (error) {
      throw explainImageError(error);
    }
  });
}

/** `xfn push`: copies an image from the store, or from a layout, to a registry. */
export async function runPush(
  name: string,
  reference: string | undefined,
  flags: CopyFlags,
  output: Output,
): Promise<number> {
  const to = reference ?? name;
  const isLocation = hasLocationPrefix(to);
  if (isLocation || !isQualified(to))
    throw usageError(
      `push requires a reference with a registry, such as ghcr.io/org/my-function:v1, not ${JSON.stringify(to)}`,
      isLocation ? ["use `xfn copy` to copy to a layout or to the store"] : [],
    );
  const from = hasLocationPrefix(name) ? name : `store:${name}`;
  return runCopy(from, to, flags, output, ["pushing", "pushed"]);
}

function isQualified(text: string): boolean {
  try {
    return parseReference(text).qualified;
  } catch (error) {
    throw explainImageError(error);
  }
}
