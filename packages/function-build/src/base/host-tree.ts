import { realpathSync } from "node:fs";
import { InputError } from "@xfn/input";
import { machineInterpreter, machineProgram } from "./machine-programs.ts";
import { addPython } from "./python-files.ts";
import { RootTree } from "./root-tree.ts";
import { sharedLibraries } from "./shared-libraries.ts";

/** The purpose of a base that is made from this machine. */
export type HostBaseKind =
  | { readonly kind: "node" }
  | { readonly kind: "static" }
  /** A dynamically linked program: its loader and libraries. */
  | { readonly kind: "dynamic"; readonly program: string }
  /** A script; `path` is the interpreter of its first line, undefined for `env`. */
  | { readonly kind: "script"; readonly interpreter: string; readonly path: string | undefined };

/** The path of Node in such a base. */
export const NODE_PATH = "/usr/local/bin/node";

// The utilities of POSIX that functions use, and common ones beyond POSIX. Tools that the machine lacks are left out.
const SHELL_TOOLS =
  `[ awk base64 basename cat chmod cmp comm cp cut date dd diff dirname du echo env expand expr false find fold
  grep egrep fgrep gzip head hostname id join kill ln ls md5sum mkdir mkfifo mktemp mv nl nproc od paste pathchk printf pwd
  readlink realpath rm rmdir sed seq sha256sum shuf sleep sort split stat stty sum sync tac tail tar tee test timeout touch tr true
  truncate tsort tty uname unexpand uniq unlink wc which whoami xargs yes`.split(/\s+/);
// Libraries of the system that compiled modules of wheels may need (PEP 600), without graphics.
const WHEEL_LIBRARIES =
  `libdl.so.2 libexpat.so.1 libgcc_s.so.1 libm.so.6 libpthread.so.0 libresolv.so.2 librt.so.1 libstdc++.so.6 libutil.so.1
  libz.so.1`.split(/\s+/);
const SHELLS: ReadonlySet<string> = new Set(["sh", "dash", "bash", "ash", "ksh", "mksh", "zsh", "busybox"]);

/**
 * Collects the files of a base image: an interpreter or a loader with its dependencies, and no data of any user.
 *
 * @throws InputError for an interpreter that cannot be copied
 */
export async function hostTree(wanted: HostBaseKind): Promise<RootTree> {
  if (process.platform !== "linux") {
    throw new InputError("a base can be made from this machine on Linux only; pass one with --base IMAGE");
  }
  const tree = new RootTree();
  addSkeleton(tree);
  switch (wanted.kind) {
    case "static":
      break;
    case "node":
      // The same base as for a script, so that both share 100 MB.
      await addInterpreter(tree, "node", undefined);
      break;
    case "dynamic":
      addLibraries(tree, [wanted.program]);
      break;
    case "script":
      await addInterpreter(tree, wanted.interpreter, wanted.path);
      break;
  }
  return tree;
}

// Mount points that runtimes need, a writable folder, and names for the ids that programs look up.
function addSkeleton(tree: RootTree): void {
  tree.folder("/tmp", 0o1777);
  for (const folder of ["/dev", "/proc", "/sys", "/etc"]) tree.folder(folder, 0o755);
  tree.text("/etc/passwd", "root:x:0:0:root:/:/sbin/nologin\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n");
  tree.text("/etc/group", "root:x:0:\nnogroup:x:65534:\n");
}

function addLibraries(tree: RootTree, programs: readonly string[], optional?: readonly string[]): void {
  for (const { source, target } of sharedLibraries(programs, optional)) tree.file(source, target);
}

function addNode(tree: RootTree): void {
  tree.file(process.execPath, NODE_PATH);
  addLibraries(tree, [process.execPath]);
}

async function addInterpreter(tree: RootTree, interpreter: string, path: string | undefined): Promise<void> {
  if (path === undefined) addTool(tree, "env");
  if (interpreter === "node" || interpreter === "nodejs") {
    addNode(tree);
    linkInterpreter(tree, path, NODE_PATH);
  } else if (/^python(3(\.\d+)?)?$/.test(interpreter)) {
    const { executable, binaries } = await addPython(tree, interpreter, path);
    addLibraries(tree, binaries, WHEEL_LIBRARIES);
    linkInterpreter(tree, path ?? `/usr/bin/${interpreter}`, executable);
  } else if (SHELLS.has(interpreter)) {
    for (const tool of ["sh", interpreter, ...SHELL_TOOLS]) addTool(tree, tool);
    const shell = machineInterpreter(path ?? interpreter);
    if (shell === undefined)
      throw new InputError(
        `the interpreter ${interpreter} is not on this machine; pass an image that has it with --base`,
      );
    tree.program(shell);
    addLibraries(tree, [realpathSync(shell)]);
    linkInterpreter(tree, path, shell);
  } else {
    throw new InputError(
      `no base for scripts of ${interpreter} can be made from this machine (only for node, python3 and shells); pass an image that has it with --base`,
    );
  }
}

/** Links the interpreter to the path in the script's first line. */
function linkInterpreter(tree: RootTree, path: string | undefined, executable: string): void {
  if (path !== undefined && path !== executable && !tree.has(path)) tree.link(path, executable);
}

function addTool(tree: RootTree, name: string): void {
  const path = machineProgram(name);
  if (path === undefined) return;
  tree.program(path);
  addLibraries(tree, [realpathSync(path)]);
}
