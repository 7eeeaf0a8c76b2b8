import {
  close,
  closeSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import type { LoadRequest, StartRequest } from "./protocol.ts";
import { sandboxPaths } from "./protocol.ts";
import { type RuntimeRequest, runtimeCommand } from "./runtime-command.ts";
import type { RuntimeGate } from "./start-barrier.ts";
import { makeRuntimeGate } from "./start-barrier.ts";
import type { ExitStatus, Pipe } from "./syscalls.ts";
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
  /** Whether its runtime was loaded before it was started. */
  loaded: boolean;
  /** Whether it was started: its runtime may read its configuration. */
  started: boolean;
  /** The OCI runtime, from its start to its end. */
  runtime: number | undefined;
  /** The function's first process, once the runtime has said which one it is. */
  init: number | undefined;
  /** Whether the runtime was told to end before the function: then the function is a child of this process. */
  detached: boolean;
  /** Children that are nobody's, and ended while the runtime was at work: the function may be among them. */
  strangers: ExitStatus[];
  ends: Ends;
  /** What all of its processes have as stdout, unless they close it, and none of another: `pipe:[123]`. */
  stdout: string;
  /** Its namespaces, once {@link holdNamespaces} has them. */
  namespaces: number[];
  /** What its runtime waits at until it may go on, where it is loaded ahead or joins cgroups. */
  gate: RuntimeGate | undefined;
}

/** Writes the bundle on a prepared root filesystem, and makes the pipes. */
export function makeSandbox(scratch: string, id: string, config: string): Sandbox {
  writeFileSync(`${sandboxPaths(scratch, id).bundle}/config.json`, config);
  const [stdin, stdout, stderr] = threePipes();
  return {
    id,
    loaded: false,
    started: false,
    runtime: undefined,
    init: undefined,
    detached: false,
    strangers: [],
    stdout: `pipe:[${fstatSync(stdout.write).ino}]`,
    namespaces: [],
    gate: undefined,
    ends: { ours: [stdin.write, stdout.read, stderr.read], theirs: [stdin.read, stdout.write, stderr.write] },
  };
}

/** All of them or none: what is lost where descriptors run out would be lost for good. */
function threePipes(): [Pipe, Pipe, Pipe] {
  const made: Pipe[] = [];
  try {
    while (made.length < 3) made.push(pipe());
    return made as [Pipe, Pipe, Pipe];
  } catch (error) {
    closeAll(made.flatMap(({ read, write }) => [read, write]));
    throw error;
  }
}

/** Starts the runtime, which waits until {@link startSandbox} lets it go on. */
export function loadRuntime(scratch: string, sandbox: Sandbox, request: LoadRequest): void {
  sandbox.loaded = true;
  sandbox.gate = makeRuntimeGate(sandboxPaths(scratch, request.id).bundle);
  spawnRuntime(scratch, sandbox, { ...request, detach: false });
}

/** Starts the runtime, or lets the one that waits go on; it starts the function. */
export function startSandbox(scratch: string, sandbox: Sandbox, request: StartRequest): void {
  const { ours, theirs } = sandbox.ends;
  closeAll(ours);
  if (request.largePipes) for (const fd of theirs.slice(0, 2)) enlargePipe(fd);
  const { cgroupProcs } = request;
  sandbox.started = true;
  try {
    if (sandbox.runtime === undefined) {
      if (cgroupProcs.length > 0) sandbox.gate ??= makeRuntimeGate(sandboxPaths(scratch, request.id).bundle);
      sandbox.detached = request.detach;
      spawnRuntime(scratch, sandbox, request);
    }
    sandbox.gate?.open(sandbox.runtime as number, cgroupProcs);
  } catch (error) {
    killRuntime(sandbox);
    throw error;
  } finally {
    closeAll(theirs);
  }
}

function spawnRuntime(scratch: string, sandbox: Sandbox, request: RuntimeRequest): void {
  const { path, argv, env } = runtimeCommand(scratch, request);
  sandbox.runtime = spawn(path, argv, env, sandbox.ends.theirs);
}

/** Those that the kernel takes long to take apart. */
const HELD_NAMESPACES = ["mnt", "net", "ipc"];

/**
 * Keeps the namespaces of a function that waits until {@link releaseNamespaces}. The kernel would take its mounts apart when its
 * process ends, before it tells us of the end, and its network and queues at the same time, on processors that the answer needs.
 */
export function holdNamespaces(sandbox: Sandbox): void {
  // Where one cannot be opened, or there are no descriptors left, a call takes a little longer.
  quietly(() => {
    for (const name of HELD_NAMESPACES) sandbox.namespaces.push(openSync(`/proc/${sandbox.init}/ns/${name}`, "r"));
  });
}

/** Lets the kernel take them apart, on another thread. To be called when nothing of the container runs any more. */
export function releaseNamespaces(sandbox: Sandbox): void {
  for (const fd of sandbox.namespaces.splice(0)) close(fd);
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

/** The function's first process; undefined where its runtime has made none. */
export function findInit(scratch: string, sandbox: Sandbox): number | undefined {
  if (sandbox.init === undefined) {
    // The file is the runtime's own and lies on a tmpfs that no container sees.
    const pid = Number(readText(sandboxPaths(scratch, sandbox.id).pidFile));
    if (Number.isSafeInteger(pid) && pid > 1) sandbox.init = pid;
  }
  return sandbox.init;
}

/** Whether a process of the container may have been there. */
export function mayHaveRun(scratch: string, sandbox: Sandbox): boolean {
  return sandbox.started && (!sandbox.loaded || findInit(scratch, sandbox) !== undefined);
}

/** SIGKILL to the container's first process, which takes its whole pid namespace along; to its runtime where it has none yet. */
export function killSandbox(scratch: string, sandbox: Sandbox): void {
  const init = findInit(scratch, sandbox);
  if (init === undefined) killRuntime(sandbox);
  else killQuietly(init);
}

/** SIGKILL to a runtime that does not end although its container did; what it leaves goes with {@link killStrays}. */
export function killRuntime(sandbox: Sandbox): void {
  if (sandbox.runtime !== undefined) killQuietly(-sandbox.runtime);
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

/**
 * SIGKILL to what a runtime that was killed half-way leaves: parts of itself, and its container. To be called until nothing is
 * found, as one of them may just have started another.
 *
 * @returns how many were found, or may be there
 */
export function killStrays(scratch: string, sandbox: Sandbox): number {
  const init = findInit(scratch, sandbox);
  if (init !== undefined) killQuietly(init);
  const all = processes();
  // Where they cannot be listed, for lack of descriptors, there may be some.
  if (all === undefined) return 1;
  const strays = all.filter((pid) => holds(pid, sandbox.stdout));
  for (const pid of strays) killQuietly(Number(pid));
  return strays.length;
}

function processes(): string[] | undefined {
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return undefined;
  }
}

function holds(pid: string, stdout: string): boolean {
  try {
    return Number(pid) !== process.pid && readlinkSync(`/proc/${pid}/fd/1`) === stdout;
  } catch {
    // It has ended, or has closed it.
    return false;
  }
}

/** Whether there is such a process, be it one that has ended and waits for its parent. */
export function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
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
