// The sandbox host: a small process that is the first one of a user (for ordinary users), mount and pid namespace, makes
// root filesystems there and starts crun. When it ends, for whatever reason, the kernel kills every container with it
// and every mount disappears: that is how nothing is ever left behind, kill -9 included.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { Sandbox } from "./container.ts";
import {
  closeEnds,
  exists,
  findInit,
  holdNamespaces,
  killRuntime,
  killSandbox,
  killStrays,
  loadRuntime,
  makeSandbox,
  mayHaveRun,
  releaseNamespaces,
  removeState,
  runtimeError,
  startSandbox,
} from "./container.ts";
import type {
  HostRequest,
  HostResponse,
  InitRequest,
  LoadRequest,
  MeasureRequest,
  PrepareRequest,
  StartRequest,
} from "./protocol.ts";
import { monotonicMs, networkFiles } from "./protocol.ts";
import { RootFilesystems } from "./root-filesystem.ts";
import type { ExitStatus } from "./syscalls.ts";
import { MountFlag, mount, reap } from "./syscalls.ts";
import { usageOf } from "./usage.ts";

/** Where the host's cgroups stay reachable for joining, once crun sees an empty /sys/fs/cgroup. */
const cgroupDirectory = "cgroup";

interface Held {
  scratch: string;
  rootFilesystems: RootFilesystems;
}

/** crun ends within milliseconds of its container. One that hangs is killed, so that a call ends soon after its deadline. */
const RUNTIME_GRACE_MS = 1_000;

/** By then the answer is on its way. */
const REMOVAL_DELAY_MS = 3;

/** All that were prepared and have not ended. */
const sandboxes = new Map<string, Sandbox>();
/** Texts of config.json. The runner uses at most `MAX_CONFIGS` numbers. */
const configs = new Map<number, string>();
let held: Held | undefined;

process.on("message", (message) => void handle(message as HostRequest));
process.on("disconnect", () => process.exit(0));
process.on("SIGCHLD", reapAll);

async function handle(request: HostRequest): Promise<void> {
  switch (request.type) {
    case "init":
      try {
        held = initialise(request);
        send({ type: "ready" });
      } catch (error) {
        send({ type: "failed", message: messageOf(error) });
      }
      break;
    case "config":
      configs.set(request.number, request.text);
      break;
    case "prepare":
      if (held !== undefined) await prepare(held, request);
      break;
    case "load":
      withSandbox(request.id, (host, sandbox) => load(host, sandbox, request));
      break;
    case "start":
      withSandbox(request.id, (host, sandbox) => start(host, sandbox, request));
      break;
    case "kill":
      withSandbox(request.id, kill);
      break;
    case "measure":
      measure(request);
      break;
  }
}

/** Requests about one that has ended meanwhile have no meaning any more. */
function withSandbox(id: string, work: (host: Held, sandbox: Sandbox) => void): void {
  const sandbox = sandboxes.get(id);
  if (sandbox !== undefined && held !== undefined) work(held, sandbox);
}

function initialise(request: InitRequest): Held {
  const { scratch } = request;
  // What is made here is for containers, which have other ids, whatever umask the runner had.
  process.umask(0o022);
  mount("tmpfs", scratch, "tmpfs", MountFlag.nosuid | MountFlag.nodev, "mode=755,size=64m");
  const files = networkFiles(scratch);
  writeFileSync(files.resolvConf, readIfPresent("/etc/resolv.conf"));
  writeFileSync(files.hosts, readIfPresent("/etc/hosts"));
  if (existsSync("/sys/fs/cgroup")) {
    mkdirSync(`${scratch}/${cgroupDirectory}`);
    mount("/sys/fs/cgroup", `${scratch}/${cgroupDirectory}`, null, MountFlag.bind | MountFlag.recursive, null);
    hideCgroups();
  }
  return { scratch, rootFilesystems: new RootFilesystems(scratch) };
}

// crun 1.8 stops on hosts that mount both cgroup versions; it needs none of them here. runc wants a group of its own in each
// version 1 hierarchy, and does without those that it finds and may not write to.
function hideCgroups(): void {
  const root = "/sys/fs/cgroup";
  const flags = MountFlag.nosuid | MountFlag.nodev | MountFlag.noexec;
  mount("tmpfs", root, "tmpfs", flags, "mode=755,size=4k");
  for (const line of readIfPresent("/proc/self/cgroup").split("\n")) {
    const controllers = line.split(":")[1] ?? "";
    for (const controller of controllers.replace("name=", "").split(",").filter(Boolean))
      mkdirSync(`${root}/${controller}`, { recursive: true });
  }
  mount("tmpfs", root, "tmpfs", flags | MountFlag.remount | MountFlag.readonly, "mode=755,size=4k");
}

async function prepare(host: Held, request: PrepareRequest): Promise<void> {
  const { id } = request;
  // Before anything is waited for: the next message may give the number to another one.
  const config = configs.get(request.config) as string;
  try {
    const prepared = await host.rootFilesystems.prepare(request);
    const sandbox = makeSandbox(host.scratch, id, config);
    sandboxes.set(id, sandbox);
    send({ type: "prepared", id, fds: sandbox.ends.ours, ...prepared });
  } catch (error) {
    host.rootFilesystems.remove(id);
    send({ type: "prepareFailed", id, message: messageOf(error) });
  }
}

function load(host: Held, sandbox: Sandbox, request: LoadRequest): void {
  try {
    loadRuntime(host.scratch, sandbox, request);
  } catch {
    // Its call gets another one, and is told why where that fails too.
    ended(host, sandbox, null, false);
  }
}

function start(host: Held, sandbox: Sandbox, request: StartRequest): void {
  const cgroupProcs = request.cgroupProcs.map((path) => `${host.scratch}/${cgroupDirectory}/${path}`);
  try {
    startSandbox(host.scratch, sandbox, { ...request, cgroupProcs });
  } catch (error) {
    send({ type: "startFailed", id: sandbox.id, message: messageOf(error) });
    remove(host, sandbox);
  }
}

function kill(host: Held, sandbox: Sandbox): void {
  if (sandbox.runtime === undefined && sandbox.init === undefined) {
    remove(host, sandbox);
    return;
  }
  killSandbox(host.scratch, sandbox);
  setTimeout(() => {
    if (sandboxes.has(sandbox.id)) killRuntime(sandbox);
  }, RUNTIME_GRACE_MS).unref();
}

function measure(request: MeasureRequest): void {
  const usages = request.ids.flatMap((id) => {
    const sandbox = sandboxes.get(id);
    const pid = sandbox?.runtime ?? sandbox?.init;
    if (pid === undefined || held === undefined) return [];
    const usage = usageOf(pid);
    return [{ id, bytes: usage.bytes + held.rootFilesystems.used(id), cpuMs: usage.cpuMs }];
  });
  send({ type: "measured", usages });
}

function reapAll(): void {
  for (let status = reap(); status !== undefined; status = reap()) if (held !== undefined) reaped(held, status);
}

function reaped(host: Held, status: ExitStatus): void {
  for (const sandbox of sandboxes.values()) {
    if (sandbox.runtime === status.pid) return runtimeEnded(host, sandbox, status);
    if (sandbox.init === status.pid && sandbox.detached) return functionEnded(host, sandbox, status);
  }
  // A function may end before its runtime has said which process it is.
  for (const sandbox of sandboxes.values()) {
    if (sandbox.detached && sandbox.runtime !== undefined) sandbox.strangers.push(status);
  }
}

function runtimeEnded(host: Held, sandbox: Sandbox, { code, signal }: ExitStatus): void {
  sandbox.runtime = undefined;
  const init = findInit(host.scratch, sandbox);
  // One that was killed cannot take its container along.
  if (!sandbox.detached) return ended(host, sandbox, code, signal !== null);
  if (code !== 0 || init === undefined) return ended(host, sandbox, code, true);
  const status = sandbox.strangers.find(({ pid }) => pid === init);
  sandbox.strangers = [];
  if (status !== undefined) return functionEnded(host, sandbox, status);
  // A runtime that stayed all the same has waited for the function, and has ended as it did.
  if (exists(init)) holdNamespaces(sandbox);
  else ended(host, sandbox, code, false);
}

function functionEnded(host: Held, sandbox: Sandbox, { code, signal }: ExitStatus): void {
  // 128 + N for one that died of signal N, as runtimes pass it on. One whose runtime is still there was killed by us.
  ended(host, sandbox, signal === null ? code : 128 + signal, sandbox.runtime !== undefined);
}

/** @param strays - whether something of it may still run */
function ended(host: Held, sandbox: Sandbox, code: number | null, strays: boolean): void {
  const { id } = sandbox;
  if (strays) killStrays(host.scratch, sandbox);
  const failed = code !== 0;
  // The answer first: nothing of the container runs any more, and what is left of it is ours alone to see.
  send({
    type: "exited",
    id,
    mayHaveRun: mayHaveRun(host.scratch, sandbox),
    at: monotonicMs(),
    code,
    runtimeError: failed ? runtimeError(host.scratch, id, code) : null,
    diskFull: failed && host.rootFilesystems.isFull(id),
  });
  remove(host, sandbox, strays);
}

function remove(host: Held, sandbox: Sandbox, strays = false): void {
  sandboxes.delete(sandbox.id);
  closeEnds(sandbox);
  const later = (): void => {
    if (strays && killStrays(host.scratch, sandbox) > 0) return void setTimeout(later, REMOVAL_DELAY_MS);
    releaseNamespaces(sandbox);
    host.rootFilesystems.remove(sandbox.id);
    removeState(host.scratch, sandbox.id);
  };
  // Nobody else sees these, and unmounting keeps a processor busy that the call's answer needs to get to its caller.
  setTimeout(later, REMOVAL_DELAY_MS);
}

function send(response: HostResponse): void {
  // Without a connection the runner is gone, and `disconnect` ends this process.
  if (process.connected) process.send?.(response);
}

function readIfPresent(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
