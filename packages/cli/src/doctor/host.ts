import { execFile } from "node:child_process";
import { accessSync, constants, statfsSync } from "node:fs";
import { open } from "node:fs/promises";
import { release } from "node:os";
import { dirname, join } from "node:path";

/** The result of a program. `code` is undefined if the program could not be started or did not exit in time. */
export interface ExecResult {
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** The part of the machine that the checks inspect. Tests pass their own. */
export interface Host {
  readonly platform: NodeJS.Platform;
  readonly uid: number;
  readonly pid: number;
  readonly nodeVersion: string;
  /** The release of the kernel, such as `6.1.0-18-amd64`. */
  readonly kernel: string;
  /** The absolute path of a program on `PATH`, or undefined. */
  which(program: string): string | undefined;
  /** Runs a program with an English locale; never rejects. */
  exec(file: string, args: readonly string[]): Promise<ExecResult>;
  /** The start of a file, or undefined if it cannot be read. */
  read(path: string): Promise<string | undefined>;
  /** Whether this process may write to an existing path. */
  writable(path: string): boolean;
  /** The free bytes for this user at `path` or its nearest existing parent; undefined if unknown. */
  freeBytes(path: string): number | undefined;
}

// A probe takes milliseconds; a hanging one (a FUSE mount, a stopped server) must not block the report.
const PROBE_MS = 10_000;
// The largest inputs are the kernel log and a mount table.
const READ_BYTES = 1024 * 1024;

/** The machine of this process. */
export function thisHost(): Host {
  return {
    platform: process.platform,
    uid: process.geteuid?.() ?? 0,
    pid: process.pid,
    nodeVersion: process.versions.node,
    kernel: release(),
    which,
    exec,
    read,
    writable,
    freeBytes,
  };
}

function which(program: string): string | undefined {
  // Some systems leave administration programs out of an ordinary user's PATH.
  const folders = [...(process.env["PATH"] ?? "").split(":"), "/usr/sbin", "/sbin"].filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, program)).find((path) => allowed(path, constants.X_OK));
}

function exec(file: string, args: readonly string[]): Promise<ExecResult> {
  return new Promise((resolve) => {
    const options = {
      timeout: PROBE_MS,
      killSignal: "SIGKILL",
      maxBuffer: READ_BYTES,
      env: { ...process.env, LC_ALL: "C" },
    } as const;
    execFile(file, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : undefined;
      resolve({ code, stdout, stderr });
    });
  });
}

async function read(path: string): Promise<string | undefined> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(READ_BYTES), 0, READ_BYTES);
    return buffer.toString("utf8", 0, bytesRead);
  } catch {
    return undefined;
  }
}

function writable(path: string): boolean {
  return allowed(path, constants.W_OK);
}

function allowed(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

function freeBytes(path: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  } catch {
    return dirname(path) === path ? undefined : freeBytes(dirname(path));
  }
}
