import { mkdirSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { RunnerError } from "@xfn/runner-contract";

/** The functions that a host process starts: containers in its own namespaces, or functions in chroots. */
export type HostKind = "containers" | "chroots";

/** The command that starts a host process, and its folder. */
export interface HostCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly scratch: string;
}

// Keep this long-lived process small: V8 would fill a young generation of 16 MB with messages before its first
// collection, and never returns the memory of the Maglev compiler.
const HOST_FLAGS = [
  "--max-old-space-size=128",
  "--max-semi-space-size=1",
  "--no-maglev",
  "--disable-warning=ExperimentalWarning",
];

/** @param cache the store's directory. The folder of the host is created. */
export function hostCommand(kind: HostKind, cache: string): HostCommand {
  const program = [...HOST_FLAGS, mainOf(kind)];
  if (kind === "chroots") return { command: process.execPath, args: program, scratch: chrootFolder(cache) };
  const rootless = process.geteuid?.() !== 0;
  // Root's containers belong to an id that cannot traverse a private directory such as /root. Every id can traverse
  // /run.
  const scratch = rootless ? join(cache, "sandboxes") : "/run/xfn";
  mkdirSync(scratch, { recursive: true });
  const users = rootless ? ["--user", "--map-root-user"] : [];
  const namespaces = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
  return { command: "unshare", args: [...users, ...namespaces, process.execPath, ...program], scratch };
}

/** The error of a host process that does not become ready. */
export function hostError(kind: HostKind, reason: string, cause?: unknown): RunnerError {
  if (kind === "chroots") {
    const message = `no function can run in a chroot here: ${reason}`;
    return new RunnerError("ChrootUnavailable", message, { phase: "start", retryable: false, cause });
  }
  return namespaceError(reason, cause);
}

/** Tests run from the sources. Otherwise all modules of the sandbox host are in one file, which loads faster. */
function mainOf(kind: HostKind): string {
  const isSource = import.meta.url.endsWith(".ts");
  const name = kind === "chroots" ? "../chroot-host/main" : isSource ? "../host/main" : "../host/main-bundle";
  return fileURLToPath(new URL(`${name}${isSource ? ".ts" : ".js"}`, import.meta.url));
}

/** A new folder that only this user can search. */
function chrootFolder(cache: string): string {
  const parent = join(cache, "chroots");
  mkdirSync(parent, { recursive: true, mode: 0o700 });
  return mkdtempSync(join(parent, `${process.pid}-`));
}

function namespaceError(reason: string, cause?: unknown): RunnerError {
  const problem =
    process.platform === "linux"
      ? `this host refuses the namespaces that a sandbox needs: ${reason}`
      : `functions in containers need Linux, and this is ${process.platform}`;
  const message = `${problem}. \`xfn doctor\` reports what is missing and how to fix it`;
  return new RunnerError("NamespaceUnavailable", message, { phase: "start", retryable: false, cause });
}
