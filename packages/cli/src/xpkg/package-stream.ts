import { join } from "node:path";
import { readPackageArchive } from "@xfn/function-build";
import { readPackageStream } from "@xfn/package";
import { type RegistryFlags, registryOptions } from "../flags/registry-flags.ts";
import { openImageStore } from "../store/open-store.ts";
import { inScratch } from "./scratch-folder.ts";

/** Flags of the commands that read packages. */
export interface PackageFlags extends RegistryFlags {
  readonly cacheDir?: string | undefined;
}

/** The YAML stream of a package file. */
export async function streamOfFile(path: string, signal: AbortSignal): Promise<Uint8Array> {
  return await inScratch(async (scratch) => {
    const from = `oci:${join(scratch, "layout")}`;
    await readPackageArchive({ paths: [path], to: from, signal });
    return (await readPackageStream({ from, signal })).content;
  });
}

/** The YAML stream of a package at a registry, in the local store, or in the layout `oci:DIR`. */
export async function streamOfImage(name: string, flags: PackageFlags, signal: AbortSignal): Promise<Uint8Array> {
  const registries = registryOptions(flags);
  return await inScratch(async () => {
    const store = await openImageStore(flags.cacheDir);
    return (await readPackageStream({ ...registries, signal, from: name, store })).content;
  });
}
