import { archivePlatform, buildPackage, readPackageArchive } from "@xfn/function-build";
import type { Image } from "@xfn/oci-rootfs";
import { ExitCode } from "@xfn/program/exit-code";
import { oneLine } from "@xfn/program/terminal-text";
import { usageError } from "../errors/cli-error.ts";
import { platformOption, type RegistryFlags, registryOptions } from "../flags/registry-flags.ts";
import { openImageStore } from "../store/open-store.ts";
import { interruptible } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";
import { pullProgress } from "../terminal/pull-progress.ts";
import { inScratch } from "./scratch-folder.ts";

/** Flags of `xfn xpkg build`, as commander parsed them. */
export interface XpkgBuildFlags extends RegistryFlags {
  readonly packageRoot: string;
  readonly examplesRoot: string;
  readonly ignore?: readonly string[];
  readonly embedRuntimeImage?: string;
  readonly embedRuntimeImageTarball?: string;
  readonly packageFile?: string;
  readonly platform?: string;
  readonly registry?: string;
  readonly cacheDir?: string;
}

/** `xfn xpkg build`: builds the file of a package from a folder. Prints the file's path. */
export async function runXpkgBuild(flags: XpkgBuildFlags, output: Output): Promise<number> {
  const { embedRuntimeImage: name, embedRuntimeImageTarball: tarball } = flags;
  if (name !== undefined && tarball !== undefined)
    throw usageError(
      "--embed-runtime-image and --embed-runtime-image-tarball exclude each other: both name the runtime",
    );
  const registries = registryOptions(flags);
  const platform = flags.platform === undefined ? undefined : platformOption(flags.platform);
  return interruptible(async (signal) => {
    const store = await openImageStore(flags.cacheDir);
    return inScratch(async (scratch) => {
      let runtime: Image | undefined;
      if (tarball !== undefined) {
        const { configs } = await readPackageArchive({ paths: [tarball], to: `oci:${scratch}`, signal });
        runtime = await store.image(`oci:${scratch}`, { platform: platform ?? archivePlatform(configs[0]), signal });
      } else if (name !== undefined) {
        const onProgress = pullProgress(output);
        const images = { ...registries, platform, defaultRegistry: flags.registry, onProgress, signal };
        runtime = await store.image(name, images);
        output.status(undefined);
      }
      const built = await buildPackage({
        store,
        root: flags.packageRoot,
        examples: flags.examplesRoot,
        signal,
        ignore: flags.ignore?.flatMap((list) => list.split(",")),
        runtime,
        file: flags.packageFile,
      });
      if (built.kind === "Function" && built.version === "v1alpha1")
        output.note("xfn: Crossplane 1.14 and later accept functions of meta.pkg.crossplane.io/v1beta1 and v1 only");
      else if (built.kind === "Function" && built.readsFunctionIO)
        output.note(
          "xfn: Crossplane calls functions over gRPC, so the program of the runtime image must serve it, as those of function-sdk-go do; " +
            "`xfn build` adds a server to TypeScript and JavaScript only",
        );
      for (const path of built.leftOut)
        output.note(
          `xfn: ${oneLine(path, 300)} is not in the package, which has files with .yaml and .yml, and no linked folders`,
        );
      if (built.kind !== "Configuration" && runtime === undefined)
        output.note(`xfn: this ${built.kind} has no runtime image; --embed-runtime-image adds one`);
      await output.product(`${built.file}\n`);
      return ExitCode.ok;
    });
  });
}
