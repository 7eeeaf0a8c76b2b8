import { closeSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { CgroupGate } from "./cgroup-gate.ts";
import { makeCgroupGate } from "./cgroup-gate.ts";
import type { StartRequest } from "./protocol.ts";
import { sandboxPaths } from "./protocol.ts";
import { runtimeCommand } from "./runtime-command.ts";
import { enlargePipe, pipe, spawn } from "./syscalls.ts";

/** crun's errors are a line; what is longer is no help. */
const MAX_ERROR_CHARACTERS = 1000;

/** The two ends of a container's pipes. */
interface Ends {
  /** stdin (write), stdout (read), stderr (read), until the runner has its own. */
  ours: [number, number, number];
  /** stdin (read), stdout (write), stderr (write), until the container has them. */
  theirs: [number, number, number];
}

/** One container, seen from the host process. */
export interface Sandbox {
  id: string;
  /** crun's process id; undefined before it is started. */
  pid: number | undefined;
  ends: Ends;
  /** What it waits at until it is in its cgroups, where it joins any. */
  gate: CgroupGate | undefined;
}

/** Writes the bundle on a prepared root filesystem, and makes the pipes. */
export function makeSandbox(scratch: string, id: string, spec: string): Sandbox {
  writeFileSync(`${sandboxPaths(scratch, id).bundle}/config.json`, spec);
  const [stdin, stdout, stderr] = [pipe(), pipe(), pipe()];
  return {
    id,
    pid: undefined,
    gate: undefined,
    ends: { ours: [stdin.write, stdout.read, stderr.read], theirs: [stdin.read, stdout.write, stderr.write] },
  };
}

/** Starts `crun run`. */
export function startSandbox(scratch: string, sandbox: Sandbox, request: StartRequest): void {
  const { path, argv, env } = runtimeCommand(scratch, request);
  const { ours, theirs } = sandbox.ends;
  closeAll(ours);
  if (request.largePipes) for (const fd of theirs.slice(0, 2)) enlargePipe(fd);
  const { cgroupProcs } = request;
  if (cgroupProcs.length > 0) sandbox.gate = makeCgroupGate(sandboxPaths(scratch, request.id).bundle);
  try {
    sandbox.pid = spawn(path, argv, env, theirs);
    sandbox.gate?.open(sandbox.pid, cgroupProcs);
  } catch (error) {
    killRuntime(sandbox);
    throw error;
  } finally {
    closeAll(theirs);
  }
}

/** Closes what is still open. */
export function closeEnds(sandbox: Sandbox): void {
  sandbox.gate?.close();
  sandbox.gate = undefined;
  closeAll(sandbox.ends.ours);
  closeAll(sandbox.ends.theirs);
}

function closeAll(fds: number[]): void {
  for (const fd of fds) if (fd !== -1) closeSync(fd);
  fds.fill(-1);
}

/** SIGKILL to the container's first process, which takes its whole pid namespace along; to crun where it has none yet. */
export function killSandbox(scratch: string, sandbox: Sandbox): void {
  const init = Number(readText(sandboxPaths(scratch, sandbox.id).pidFile));
  // The pid file is crun's own and lies on a tmpfs that no container sees.
  if (Number.isSafeInteger(init) && init > 1) killQuietly(init);
  else killRuntime(sandbox);
}

/** SIGKILL to crun, for one that did not end although its container did; the container goes with {@link killStrays}. */
export function killRuntime(sandbox: Sandbox): void {
  if (sandbox.pid !== undefined) killQuietly(-sandbox.pid);
}

/**
 * Why a runtime did not run its function: the errors that it logged, without their time stamps; null where that was not so.
 *
 * @param code - what it exited with; null where it was killed
 */
export function runtimeError(scratch: string, id: string, code: number | null): string | null {
  const { log, pidFile } = sandboxPaths(scratch, id);
  const lines = readText(log).split("\n").filter(Boolean);
  const messages = lines.flatMap((line) => errorIn(line) ?? []);
  if (messages.length > 0) return messages.join("; ").slice(0, MAX_ERROR_CHARACTERS);
  // A runtime that has made no process fails for reasons of its own, whether it gives them or not.
  const failed = code !== null && code !== 0 && readText(pidFile) === "";
  return failed ? `the OCI runtime exited with code ${code} and logged no reason` : null;
}

/** The message of a log line that is an error, or the line where it is not the JSON that was asked for. */
function errorIn(line: string): string | undefined {
  try {
    const entry: unknown = JSON.parse(line);
    if (typeof entry !== "object" || entry === null || !("msg" in entry)) return line;
    return "level" in entry && entry.level !== "error" ? undefined : String(entry.msg);
  } catch {
    return line;
  }
}

/** Takes away crun's state of a container. What cannot be taken away now goes with this process. */
export function removeState(scratch: string, id: string): void {
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
