import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { messageOf } from "@xfn/errors";
import { ExitCode } from "@xfn/program/exit-code";
import { CliError } from "../errors/cli-error.ts";
import type { Output } from "../terminal/output.ts";

/** A file that a command generates. */
export interface GeneratedFile {
  readonly path: string;
  readonly text: string;
  /** The command that writes it, for the message of a file that is not current. */
  readonly command: string;
}

/** Writes a file whole, with its folder: a killed process leaves the old one. */
export function writeGenerated({ path, text }: GeneratedFile): number {
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
export function checkGenerated({ path, text, command }: GeneratedFile, output: Output): number {
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
