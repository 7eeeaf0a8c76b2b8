import { closeSync, openSync, readSync } from "node:fs";
import { basename } from "node:path";
import { InputError } from "@xfn/input";
import { type Platform, printPlatform } from "@xfn/oci-rootfs";
import { readElf } from "./elf.ts";

/** The kind of an executable file. */
export type ProgramFile =
  /** A statically linked program. `architecture` as in {@link ElfFile}. */
  | { readonly kind: "static"; readonly architecture: string }
  /** A dynamically linked program, which needs a loader and libraries. */
  | { readonly kind: "dynamic"; readonly architecture: string }
  /** A script, with the interpreter of its first line. `path` is undefined if `env` finds it on PATH. */
  | { readonly kind: "script"; readonly interpreter: string; readonly path: string | undefined };

// The kernel reads this many bytes of a first line (BINPRM_BUF_SIZE).
const FIRST_LINE_BYTES = 256;

/**
 * Inspects an executable file without running it.
 *
 * @throws InputError for a file that Linux cannot execute
 */
export function inspectProgram(path: string): ProgramFile {
  const start = firstBytes(path);
  if (start.startsWith("#!")) return script(path, start);
  const elf = readElf(path);
  if (elf === undefined) {
    throw new InputError(`${path} is neither a Linux program nor a script that begins with #!${foreign(start)}`);
  }
  return { kind: elf.interpreter === undefined ? "static" : "dynamic", architecture: elf.architecture };
}

/** ELF class and machine (`e_machine`) by the architecture name of images. */
const PROCESSORS: Readonly<Record<string, string>> = {
  "386": "1:3",
  amd64: "2:62",
  arm: "1:40",
  arm64: "2:183",
  loong64: "2:258",
  ppc64le: "2:21",
  riscv64: "2:243",
  s390x: "2:22",
};

/** @throws InputError for a program of another processor than the platform's */
export function checkProcessor(path: string, program: ProgramFile, platform: Platform): void {
  const wanted = PROCESSORS[platform.architecture];
  if (program.kind === "script" || wanted === undefined || program.architecture === wanted) return;
  const built = Object.entries(PROCESSORS).find(([, architecture]) => architecture === program.architecture)?.[0];
  throw new InputError(
    `${path} is built for ${built ?? "another processor"}, not for ${printPlatform(platform)}: rebuild it, or pass its platform with --platform`,
  );
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
    throw new InputError(
      `${file}: its first line ends in a carriage return, which Linux reads as part of the interpreter's name; save it with Unix line endings`,
    );
  const [program = "", ...rest] = line.trim().split(/\s+/);
  if (!program.startsWith("/"))
    throw new InputError(`${file}: its first line must name the interpreter by its absolute path`);
  if (basename(program) !== "env") return { kind: "script", interpreter: basename(program), path: program };
  // `env -S node --flag` splits its argument; other options of env do not matter here.
  const name = rest.find((word) => !word.startsWith("-") && !word.includes("="));
  if (name === undefined) throw new InputError(`${file}: its first line must name an interpreter after env`);
  return { kind: "script", interpreter: basename(name), path: name.startsWith("/") ? name : undefined };
}
