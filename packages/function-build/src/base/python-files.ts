import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { InputError } from "@xfn/input";
import { machineInterpreter } from "./machine-programs.ts";
import type { RootTree } from "./root-tree.ts";

/** Python in the image. */
export interface PythonFiles {
  /** The interpreter's path in the image. */
  readonly executable: string;
  /** Files of this machine whose shared libraries the image needs. */
  readonly binaries: readonly string[];
}

// Run by the interpreter itself, because the path of the standard library differs between distributions.
const QUERY = `import json, os, sys, sysconfig
print(json.dumps({"executable": os.path.realpath(getattr(sys, "_base_executable", sys.executable)), "prefix": os.path.realpath(sys.base_prefix), "library": os.path.realpath(os.path.dirname(os.__file__)), "version": sysconfig.get_python_version()}))`;
const QUERY_MS = 10_000;

// Parts of the standard library that functions do not use: tests, graphics, installers, installed packages.
const OMITTED =
  /^(test|tests|idlelib|tkinter|turtledemo|turtle\.py|ensurepip|lib2to3|site-packages|dist-packages|config-.*|_tkinter\..*|_test.*\.so|xxlimited.*|_ctypes_test.*|__phello__|pydoc_data|LICENSE\.txt)$/;

interface PythonInstallation {
  readonly executable: string;
  readonly prefix: string;
  readonly library: string;
  /** Such as `3.11`. */
  readonly version: string;
}

/**
 * Adds this machine's Python with its standard library, always below `/usr`.
 *
 * @param interpreter - `python3`, or a versioned name
 * @param path - the interpreter of the script's first line, if that line names one
 * @throws InputError if there is no such interpreter
 */
export async function addPython(tree: RootTree, interpreter: string, path: string | undefined): Promise<PythonFiles> {
  const program = machineInterpreter(path ?? interpreter);
  if (program === undefined)
    throw new InputError(`${interpreter} is not on this machine; pass an image that has it with --base`);
  const python = inspectPython(program);
  const executable = `/usr/bin/python${python.version}`;
  tree.file(python.executable, executable);
  if (!tree.has("/usr/bin/python3")) tree.link("/usr/bin/python3", executable);
  // The interpreter finds its library relative to its own path.
  const target = join("/usr", relative(python.prefix, python.library));
  const binaries = [python.executable];
  addLibrary(tree, python.library, target, binaries);
  return { executable, binaries };
}

function inspectPython(program: string): PythonInstallation {
  try {
    // -I ignores the environment and the working directory, -S installed packages.
    const answer = execFileSync(program, ["-I", "-S", "-c", QUERY], {
      timeout: QUERY_MS,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    return JSON.parse(answer) as PythonInstallation;
  } catch (error) {
    throw new InputError(`${program} does not start; pass an image that has it with --base`, { cause: error });
  }
}

function addLibrary(tree: RootTree, folder: string, target: string, binaries: string[]): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const { name } = entry;
    if (OMITTED.test(name) || name === "__pycache__") continue;
    const source = join(folder, name);
    if (statSync(source, { throwIfNoEntry: false })?.isDirectory() === true) {
      addLibrary(tree, source, join(target, name), binaries);
    } else if (name.endsWith(".so")) {
      tree.file(source, join(target, name));
      binaries.push(source);
    } else if (/\.(py|json|txt|cfg)$/.test(name) && statSync(source, { throwIfNoEntry: false })?.isFile() === true) {
      tree.file(source, join(target, name));
      if (name.endsWith(".py")) addCompiled(tree, folder, target, name);
    }
  }
}

const CACHED = /^(.*)\.(cpython-\d+)\.pyc$/;
const UNCHECKED_HASH = 1;

/**
 * Adds the compiled form of a module, marked as valid for any modification time of its source, because images do not
 * preserve times. Otherwise each call would compile its imports.
 *
 * @see https://peps.python.org/pep-0552/ (unchecked hash-based pycs)
 */
function addCompiled(tree: RootTree, folder: string, target: string, module: string): void {
  const cache = join(folder, "__pycache__");
  const name = existsSync(cache)
    ? readdirSync(cache).find((each) => CACHED.exec(each)?.[1] === basename(module, ".py"))
    : undefined;
  if (name === undefined) return;
  const bytes = readFileSync(join(cache, name));
  const { mtimeMs, size } = statSync(join(folder, module));
  const isCurrent =
    bytes.length > 16 &&
    bytes.readUInt32LE(4) === 0 &&
    bytes.readUInt32LE(8) === Math.floor(mtimeMs / 1000) &&
    bytes.readUInt32LE(12) === size;
  if (!isCurrent) return;
  bytes.writeUInt32LE(UNCHECKED_HASH, 4);
  bytes.fill(0, 8, 16);
  tree.bytes(join(target, "__pycache__", name), bytes);
}
