import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { readPackageArchive } from "@xfn/function-build";
import { InputError } from "@xfn/input";
import type { RegistryOptions } from "@xfn/oci-rootfs";
import { readPackageStream } from "@xfn/package";
import { ExitCode } from "@xfn/program/exit-code";
import { usageError } from "../errors/cli-error.ts";
import { messageOf } from "../errors/message-of.ts";
import { type RegistryFlags, registryOptions } from "../flags/registry-flags.ts";
import { openImageStore } from "../store/open-store.ts";
import { interruptible } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";
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
          : await streamOfImage(name, flags, { ...registries, signal });
      writeWhole(file, gzipSync(stream));
      await output.product(`${file}\n`);
      return ExitCode.ok;
    }),
  );
}

async function streamOfFile(path: string, scratch: string, signal: AbortSignal): Promise<Uint8Array> {
  const from = `oci:${join(scratch, "layout")}`;
  await readPackageArchive({ paths: [path], to: from, signal });
  return (await readPackageStream({ from, signal })).content;
}

async function streamOfImage(
  name: string | undefined,
  { cacheDir }: XpkgExtractFlags,
  options: RegistryOptions & { readonly signal: AbortSignal },
): Promise<Uint8Array> {
  if (name === undefined)
    throw usageError("extract requires the name of a package at a registry, or --from-xpkg and a file");
  const store = await openImageStore(cacheDir);
  return (await readPackageStream({ ...options, from: name, store })).content;
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
    throw new InputError(`cannot write ${file}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
