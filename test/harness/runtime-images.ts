import process from "node:process";
import { type BuildEntry, buildImage } from "@xfn/oci-rootfs";
import { type Runner, RunnerError, type RunOptions } from "@xfn/runner";
import { storeOf } from "./shell-function.ts";
import type { Workspace } from "./workspace.ts";

/** The OCI runtimes whose containers are tested. */
export const RUNTIMES = ["crun", "runc"] as const;

/** Returns the output of an image for one line of input. The error of a failed call contains the function's stderr. */
export async function askImage(runner: Runner, image: string, line: string, options: RunOptions = {}): Promise<string> {
  const output = await runner.run(image, Buffer.from(`${line}\n`), options).catch((error: unknown) => {
    throw error instanceof RunnerError ? new Error(`${error.message}: ${error.stderr}`, { cause: error }) : error;
  });
  return Buffer.from(output).toString("utf8");
}

/** Builds an image with only these files. Its entrypoint is /function. */
export async function buildFiles(workspace: Workspace, name: string, entries: BuildEntry[]): Promise<void> {
  const store = await storeOf(workspace);
  await buildImage({ store, name, layers: [{ entries }], config: { entrypoint: ["/function"] } });
}

/** A static ELF program, elf(5), with one segment of code. */
export function tinyProgram(code: readonly number[]): Buffer {
  const header = Buffer.alloc(120);
  header.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1], 0);
  header.writeUInt16LE(2, 16);
  header.writeUInt16LE(process.arch === "arm64" ? 183 : 62, 18);
  header.writeUInt32LE(1, 20);
  header.writeBigUInt64LE(0x40_0078n, 24);
  header.writeBigUInt64LE(64n, 32);
  header.writeUInt16LE(64, 52);
  header.writeUInt16LE(56, 54);
  header.writeUInt16LE(1, 56);
  header.writeUInt32LE(1, 64);
  header.writeUInt32LE(5, 68);
  header.writeBigUInt64LE(0x40_0000n, 80);
  header.writeBigUInt64LE(0x40_0000n, 88);
  header.writeBigUInt64LE(BigInt(120 + code.length), 96);
  header.writeBigUInt64LE(BigInt(120 + code.length), 104);
  header.writeBigUInt64LE(0x1000n, 112);
  return Buffer.concat([header, Buffer.from(code)]);
}
