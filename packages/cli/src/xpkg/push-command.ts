import { readPackageArchive } from "@xfn/function-build";
import { tryParseImageName } from "@xfn/oci-rootfs/image-name";
import { ExitCode } from "@xfn/program/exit-code";
import { usageError } from "../errors/cli-error.ts";
import { keyValues } from "../flags/flag-values.ts";
import { type RegistryFlags, registryOptions } from "../flags/registry-flags.ts";
import { interruptible } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";
import { pullProgress } from "../terminal/pull-progress.ts";
import { packageFilesOf } from "./package-arguments.ts";
import { inScratch } from "./scratch-folder.ts";

/** Flags of `xfn xpkg push`, as commander parsed them. */
export interface XpkgPushFlags extends RegistryFlags {
  readonly packageFiles?: readonly string[];
  readonly ociAnnotation?: readonly string[];
}

/** `xfn xpkg push`: pushes package files to a registry, several as an index. Prints `NAME@DIGEST`. */
export async function runXpkgPush(reference: string, flags: XpkgPushFlags, output: Output): Promise<number> {
  checkReference(reference);
  const registries = registryOptions(flags);
  const annotations = keyValues("--oci-annotation", flags.ociAnnotation);
  const paths = packageFilesOf(flags.packageFiles);
  return interruptible((signal) =>
    inScratch(async (scratch) => {
      const { copyImage } = await import("@xfn/oci-rootfs/registry");
      await readPackageArchive({ paths, to: `oci:${scratch}`, annotations, signal });
      const onProgress = pullProgress(output, Date.now, () => ["pushing", "pushed"]);
      try {
        const copied = await copyImage({ ...registries, from: `oci:${scratch}`, to: reference, onProgress, signal });
        await output.product(`${copied.name}@${copied.digest}\n`);
        return ExitCode.ok;
      } finally {
        output.status(undefined);
      }
    }),
  );
}

// Crossplane requires a registry and a tag. A layout is for use without a network.
function checkReference(text: string): void {
  const name = tryParseImageName(text);
  if (name?.kind === "layout") return;
  if (name?.qualified === true && name.tag !== undefined && name.digest === undefined) return;
  throw usageError(
    `push requires REGISTRY/REPOSITORY:TAG, such as ghcr.io/org/my-function:v1.0.0, or oci:DIR:TAG, not ${JSON.stringify(text)}`,
  );
}
