import { closeSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import type { StartRequest } from "./protocol.ts";
import { sandboxPaths } from "./protocol.ts";
import { runtimeCommand } from "./runtime-command.ts";
import { pipe, spawn, unmount } from "./syscalls.ts";

/** crun's errors are a line; what is longer is no help. */
const MAX_ERROR_CHARACTERS = 1000;

/** One running container, seen from the host process. */
export interface Sandbox {
  id: string;
  /** crun's process id. */
  pid: number;
  /** Our ends of its pipes, until the runner has its own. */
  fds: [number, number, number];
}

/** Starts `crun run` on a prepared root filesystem. */
export function startSandbox(scratch: string, request: StartRequest): Sandbox {
  const paths = sandboxPaths(scratch, request.id);
  writeFileSync(`${paths.bundle}/config.json`, request.spec);
  const { path, argv, env } = runtimeCommand(scratch, request);
  const stdin = pipe(request.largePipes);
  const stdout = pipe(request.largePipes);
  const stderr = pipe(false);
  try {
    const pid = spawn(path, argv, env, [stdin.read, stdout.write, stderr.write]);
    return { id: request.id, pid, fds: [stdin.write, stdout.read, stderr.read] };
  } catch (error) {
    for (const fd of [stdin.write, stdout.read, stderr.read]) closeSync(fd);
    throw error;
  } finally {
    for (const fd of [stdin.read, stdout.write, stderr.write]) closeSync(fd);
  }
}

/** SIGKILL to the container's first process, which takes its whole pid namespace along; to crun where it has none yet. */
export function killSandbox(scratch: string, sandbox: Sandbox): void {
  const init = Number(readText(sandboxPaths(scratch, sandbox.id).pidFile));
  // The pid file is crun's own and lies on a tmpfs that no container sees.
  if (Number.isSafeInteger(init) && init > 1) killQuietly(init);
  else killQuietly(-sandbox.pid);
}

/** SIGKILL to crun, for one that did not end although its container did; the container goes with {@link killStrays}. */
export function killRuntime(sandbox: Sandbox): void {
  killQuietly(-sandbox.pid);
}

/** The errors that crun logged, without its time stamps; null where it logged none. */
export function runtimeError(scratch: string, id: string): string | null {
  const lines = readText(sandboxPaths(scratch, id).log).split("\n").filter(Boolean);
  const messages = lines.flatMap((line) => errorIn(line) ?? []);
  return messages.length === 0 ? null : messages.join("; ").slice(0, MAX_ERROR_CHARACTERS);
}

/** The message of a log line that is an error. Lines that are not crun's JSON are the shell's (see runtime-command.ts). */
function errorIn(line: string): string | undefined {
  try {
    const entry: unknown = JSON.parse(line);
    if (typeof entry !== "object" || entry === null || !("msg" in entry)) return line;
    return "level" in entry && entry.level !== "error" ? undefined : String(entry.msg);
  } catch {
    return line;
  }
}

/** Takes away the call's mounts, files and crun state. What cannot be taken away now goes with this process. */
export function removeSandbox(scratch: string, id: string): void {
  const paths = sandboxPaths(scratch, id);
  // A copied root filesystem is no mount.
  quietly(() => unmount(paths.rootfs));
  quietly(() => unmount(paths.call));
  quietly(() => rmdirSync(paths.call));
  quietly(() => rmSync(`${scratch}/state/${id}`, { recursive: true, force: true }));
}

/** Kills children of ours that nobody started: what a crun that was killed half-way left behind. */
export function killStrays(known: Iterable<number>): void {
  const expected = new Set(known);
  for (const word of readText("/proc/self/task/1/children").split(" ")) {
    const pid = Number(word);
    if (pid > 1 && !expected.has(pid)) killQuietly(pid);
  }
}

// A process that is to be killed may have ended by itself meanwhile.
function killQuietly(pid: number): void {
  quietly(() => process.kill(pid, "SIGKILL"));
}

function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // Each caller says why this may be.
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
