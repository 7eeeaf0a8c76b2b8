import { parseReference } from "@xfn/oci-rootfs/image-name";
import { ExitCode } from "@xfn/program/exit-code";
import { platformOption, type RegistryFlags, registryOptions } from "../flags/registry-flags.ts";
import { explainImageError } from "../store/explain-image-error.ts";
import { openImageStore } from "../store/open-store.ts";
import { withElapsedTime } from "../terminal/elapsed-time.ts";
import { interruptible } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";
import { pullProgress } from "../terminal/pull-progress.ts";
import { nameWithDigest } from "./name-with-digest.ts";

/** Flags of `xfn pull`, as commander parsed them. */
export interface PullFlags extends RegistryFlags {
  readonly platform?: string;
  readonly registry?: string;
  readonly cacheDir?: string;
}

/** `xfn pull`: pulls an image into the store and unpacks it. Prints `NAME@DIGEST`. */
export async function runPull(text: string, flags: PullFlags, output: Output): Promise<number> {
  const registries = registryOptions(flags);
  const platform = flags.platform === undefined ? undefined : platformOption(flags.platform);
  return interruptible(async (signal) => {
    try {
      // With its registry, so that a local image with the same short name is not used instead.
      const reference = parseReference(text, { defaultRegistry: flags.registry });
      const store = await openImageStore(flags.cacheDir);
      const image = await withElapsedTime(output, `pulling ${reference.toString()}`, async (shown) => {
        const onProgress = pullProgress(shown);
        return store.image(reference.toString(), { ...registries, pullPolicy: "Always", platform, onProgress, signal });
      });
      // The digest at the registry, which may be that of an index.
      const digest = store.list().find(({ name }) => name === image.name)?.digest ?? image.digest;
      await output.product(`${nameWithDigest({ name: image.name, digest })}\n`);
      return ExitCode.ok;
    } catch (error) {
      throw explainImageError(error);
    }
  });
}
