import { renameSync, rmSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { messageOf } from "@xfn/errors";
import { InputError } from "@xfn/input";
import { ExitCode } from "@xfn/program/exit-code";
import { oneLine } from "@xfn/program/terminal-text";
import { usageError } from "../errors/cli-error.ts";
import { withElapsedTime } from "../terminal/elapsed-time.ts";
import { interruptible } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";
import { onlyPackageIn } from "./package-arguments.ts";
import { type PackageFlags, streamOfFile, streamOfImage } from "./package-stream.ts";

/** Flags of `xfn xpkg extract`, as commander parsed them. */
export interface XpkgExtractFlags extends PackageFlags {
  readonly fromXpkg?: boolean;
  readonly fromDaemon?: boolean;
  readonly output: string;
}

/** `xfn xpkg extract`: writes the objects of a package as a gzipped YAML stream. Prints the file's path. */
export async function runXpkgExtract(
  name: string | undefined,
  flags: XpkgExtractFlags,
  output: Output,
): Promise<number> {
  if (flags.fromDaemon === true)
    throw usageError("--from-daemon: xfn uses no daemon; save the image (docker save -o FILE) and use --from-xpkg");
  const file = outputFile(flags.output);
  return interruptible(async (signal) => {
    const isFile = flags.fromXpkg === true || name?.endsWith(".xpkg") === true;
    const source = isFile ? (name ?? onlyPackageIn(process.cwd())) : named(name);
    const stream = await withElapsedTime(output, `reading ${oneLine(source, 200)}`, () =>
      isFile ? streamOfFile(source, signal) : streamOfImage(source, flags, signal),
    );
    writeWhole(file, gzipSync(stream));
    await output.product(`${file}\n`);
    return ExitCode.ok;
  });
}

function named(name: string | undefined): string {
  if (name === undefined)
    throw usageError("extract requires the name of a package at a registry, or --from-xpkg and a file");
  return name;
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
