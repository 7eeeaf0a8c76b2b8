import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { archivePlatform, packageStream, readPackageArchive } from "@xfn/function-build";
import { InputError } from "@xfn/input";
import {
  type Image,
  ImageError,
  type ImageOptions,
  type OnProgress,
  openStore,
  parsePlatform,
  type RegistryOptions,
  type Store,
} from "@xfn/oci-rootfs";
import { ExitCode } from "@xfn/program/exit-code";
import { usageError } from "../errors/cli-error.ts";
import { type RegistryFlags, registryOptions } from "../flags/registry-flags.ts";
import { openImageStore } from "../store/open-store.ts";
import { interruptible } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";
import { pullProgress } from "../terminal/pull-progress.ts";
import { onlyPackageIn } from "./package-arguments.ts";
import { inScratch } from "./scratch-folder.ts";

/** Flags of `xfn xpkg extract`, as commander parsed them. */
export interface XpkgExtractFlags extends RegistryFlags {
  readonly fromXpkg?: boolean;
  readonly fromDaemon?: boolean;
  readonly output: string;
  readonly cacheDir?: string;
}

/** `xfn xpkg extract`: writes the objects of a package as a gzipped YAML stream. Prints the file's path. */
export async function runXpkgExtract(
  name: string | undefined,
  flags: XpkgExtractFlags,
  output: Output,
): Promise<number> {
  if (flags.fromDaemon === true)
    throw usageError("--from-daemon: xfn uses no daemon; save the image (docker save -o FILE) and use --from-xpkg");
  const registries = registryOptions(flags);
  const file = outputFile(flags.output);
  return interruptible((signal) =>
    inScratch(async (scratch) => {
      const stream =
        flags.fromXpkg === true
          ? await streamOfFile(name ?? onlyPackageIn(process.cwd()), scratch, signal)
          : await streamOfImage(name, flags, { ...registries, signal, onProgress: pullProgress(output) });
      output.status(undefined);
      writeWhole(file, gzipSync(stream));
      await output.product(`${file}\n`);
      return ExitCode.ok;
    }),
  );
}

async function streamOfFile(path: string, scratch: string, signal: AbortSignal): Promise<Uint8Array> {
  const layout = `oci:${join(scratch, "layout")}`;
  const { configs } = await readPackageArchive({ paths: [path], to: layout, signal });
  // Not the user's store, because the package will not run.
  const store = await openStore({ dir: join(scratch, "store") });
  const platform = archivePlatform(configs[0]);
  return packageStream({ from: layout, store, signal, image: () => store.image(layout, { platform, signal }) });
}

async function streamOfImage(
  name: string | undefined,
  { cacheDir }: XpkgExtractFlags,
  options: RegistryOptions & { readonly onProgress: OnProgress; readonly signal: AbortSignal },
): Promise<Uint8Array> {
  if (name === undefined)
    throw usageError("extract requires the name of a package at a registry, or --from-xpkg and a file");
  const store = await openImageStore(cacheDir);
  // Always resolve the tag again.
  const image = (): Promise<Image> => anyImage(store, name, { ...options, pullPolicy: "Always" });
  return packageStream({ ...options, from: name, store, image });
}

/**
 * The objects of a package are the same for all platforms, so another platform's image will do. Crossplane takes
 * linux/amd64.
 */
async function anyImage(store: Store, name: string, options: ImageOptions): Promise<Image> {
  try {
    return await store.image(name, options);
  } catch (error) {
    if (!(error instanceof ImageError) || error.code !== "WrongPlatform") throw error;
    return store.image(name, { ...options, platform: parsePlatform("linux/amd64") });
  }
}

/** Replaces the extension with that of the content. */
function outputFile(path: string): string {
  const ending = /(?<=[^/])\.[^./]*$/.exec(path);
  return `${ending === null ? path : path.slice(0, ending.index)}.gz`;
}

function writeWhole(file: string, content: Uint8Array): void {
  const aside = `${file}.${process.pid}.tmp`;
  try {
    writeFileSync(aside, content, { flag: "wx" });
    renameSync(aside, file);
  } catch (error) {
    rmSync(aside, { force: true });
    throw new InputError(`cannot write ${file}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}
