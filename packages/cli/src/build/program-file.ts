import { closeSync, openSync, readSync } from "node:fs";
import { basename } from "node:path";
import { inputError } from "../errors.ts";
import { readElf } from "./elf.ts";

/** What an executable file needs in order to run. */
export type ProgramFile =
  /** A statically linked program: nothing. */
  | { readonly kind: "static" }
  /** A dynamically linked program: its loader and libraries. */
  | { readonly kind: "dynamic" }
  /** A script: the interpreter of its first line; `path` is absolute unless `env` finds it on PATH. */
  | { readonly kind: "script"; readonly interpreter: string; readonly path: string | undefined };

// The kernel reads no more of a first line (BINPRM_BUF_SIZE).
const FIRST_LINE_BYTES = 256;

/**
 * Looks at an executable file without running it.
 *
 * @param machine - a program of this machine, whose processor the file must be for
 * @throws CliError `Input` for a file that Linux cannot execute
 */
export function inspectProgram(path: string, machine: string = process.execPath): ProgramFile {
  const start = firstBytes(path);
  if (start.startsWith("#!")) return script(path, start);
  const elf = readElf(path);
  if (elf === undefined) {
    throw inputError(`${path} is neither a Linux program nor a script that begins with #!${foreign(start)}`);
  }
  const here = readElf(machine)?.architecture;
  if (here !== undefined && elf.architecture !== here)
    throw inputError(`${path} is built for another processor than this machine's`);
  return { kind: elf.interpreter === undefined ? "static" : "dynamic" };
}

function firstBytes(path: string): string {
  const fd = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(FIRST_LINE_BYTES);
    return bytes.toString("latin1", 0, readSync(fd, bytes, 0, bytes.length, 0));
  } finally {
    closeSync(fd);
  }
}

function foreign(start: string): string {
  if (start.startsWith("MZ")) return " (it is a Windows program; for Go: GOOS=linux go build)";
  if (/^(\xcf\xfa\xed\xfe|\xca\xfe\xba\xbe)/.test(start))
    return " (it is a macOS program; for Go: GOOS=linux go build)";
  return "";
}

function script(file: string, start: string): ProgramFile {
  const line = start.slice(2).split("\n", 1)[0] ?? "";
  if (line.endsWith("\r"))
    throw inputError(
      `${file}: its first line ends in a carriage return, which Linux takes as part of the interpreter's name; save it with Unix line ends`,
    );
  const [program = "", ...rest] = line.trim().split(/\s+/);
  if (!program.startsWith("/")) throw inputError(`${file}: its first line names no interpreter by its absolute path`);
  if (basename(program) !== "env") return { kind: "script", interpreter: basename(program), path: program };
  // `env -S node --flag` splits what follows; other options of env do not matter here.
  const name = rest.find((word) => !word.startsWith("-") && !word.includes("="));
  if (name === undefined) throw inputError(`${file}: its first line names no interpreter after env`);
  return { kind: "script", interpreter: basename(name), path: name.startsWith("/") ? name : undefined };
}
