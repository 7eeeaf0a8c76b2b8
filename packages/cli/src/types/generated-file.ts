import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { messageOf } from "@xfn/errors";
import { ExitCode } from "@xfn/program/exit-code";
import { CliError, usageError } from "../errors/cli-error.ts";
import type { Output } from "../terminal/output.ts";
import type { ExtensionFlags } from "../validate/read-extensions.ts";

/** Flags of commands that generate a file from definitions. */
export type GeneratedFlags = ExtensionFlags & { output?: string; kinds?: string; check: boolean };

/** A file that a command generates. */
interface GeneratedFile {
  readonly path: string;
  readonly text: string;
  /** The command that writes it, for the message of a file that is not current. */
  readonly command: string;
}

/** @throws CliError if there is no file to check */
export function requireFile({ output, check }: GeneratedFlags): void {
  if (check && output === undefined) throw usageError("--check compares a file: name it with --output");
}

/** Prints what a command generates, or writes or checks its file. @param command without `--output` */
export async function deliver(
  text: string,
  command: string,
  { output: path, check }: GeneratedFlags,
  output: Output,
): Promise<number> {
  if (path === undefined) {
    await output.product(text);
    return ExitCode.ok;
  }
  const file = { path, text, command: `${command} -o ${path}` };
  return check ? checkGenerated(file, output) : writeGenerated(file);
}

/** Writes a file whole, with its folder: a killed process leaves the old one. */
function writeGenerated({ path, text }: GeneratedFile): number {
  const aside = `${path}.${process.pid}.tmp`;
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(aside, text, { flag: "wx" });
    renameSync(aside, path);
  } catch (error) {
    rmSync(aside, { force: true });
    throw new CliError("Failed", `cannot write ${path}: ${messageOf(error)}`, { cause: error });
  }
  return ExitCode.ok;
}

/** Reports a file that is not current. Does not compare its first line, which names sources relative to a folder. */
function checkGenerated({ path, text, command }: GeneratedFile, output: Output): number {
  let existing: string;
  try {
    existing = readFileSync(path, "utf8");
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    const reason = isMissing ? "does not exist" : `cannot be read: ${messageOf(error)}`;
    throw new CliError("Failed", `${path} ${reason}: run ${command}`, { cause: error });
  }
  if (withoutFirstLine(existing) === withoutFirstLine(text)) return ExitCode.ok;
  output.note(`xfn: ${path} is not current: run ${command}`);
  return ExitCode.failed;
}

function withoutFirstLine(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(/^.*\n/, "");
}
