// The sandbox host: a small process that is the first one of a user (for ordinary users), mount and pid namespace, makes
// root filesystems there and starts crun. When it ends, for whatever reason, the kernel kills every container with it
// and every mount disappears: that is how nothing is ever left behind, kill -9 included.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type {
  HostRequest,
  HostResponse,
  InitRequest,
  MeasureRequest,
  PrepareRequest,
  StartRequest,
} from "./protocol.ts";
import { monotonicMs, networkFiles } from "./protocol.ts";
import { RootFilesystems } from "./root-filesystem.ts";
import type { Sandbox } from "./sandbox.ts";
import {
  closeEnds,
  killRuntime,
  killSandbox,
  killStrays,
  makeSandbox,
  removeState,
  runtimeError,
  startSandbox,
} from "./sandbox.ts";
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
/** Texts of config.json; the runner keeps to `MAX_SPECS` numbers. */
const specs = new Map<number, string>();
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
    case "spec":
      specs.set(request.number, request.text);
      break;
    case "prepare":
      if (held !== undefined) await prepare(held, request);
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
  try {
    const prepared = await host.rootFilesystems.prepare(request);
    const sandbox = makeSandbox(host.scratch, id, specs.get(request.spec) as string);
    sandboxes.set(id, sandbox);
    send({ type: "prepared", id, fds: sandbox.ends.ours, ...prepared });
  } catch (error) {
    host.rootFilesystems.remove(id);
    send({ type: "prepareFailed", id, message: messageOf(error) });
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
  if (sandbox.pid === undefined) {
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
    const pid = sandboxes.get(id)?.pid;
    if (pid === undefined || held === undefined) return [];
    const usage = usageOf(pid);
    return [{ id, bytes: usage.bytes + held.rootFilesystems.used(id), cpuMs: usage.cpuMs }];
  });
  send({ type: "measured", usages });
}

function remove(host: Held, sandbox: Sandbox): void {
  sandboxes.delete(sandbox.id);
  closeEnds(sandbox);
  // Nobody else sees these, and unmounting keeps a processor busy that the call's answer needs to get to its caller.
  setTimeout(() => {
    host.rootFilesystems.remove(sandbox.id);
    removeState(host.scratch, sandbox.id);
  }, REMOVAL_DELAY_MS);
}

function reapAll(): void {
  for (let status = reap(); status !== undefined; status = reap()) {
    const { pid, code, signal } = status;
    const sandbox = [...sandboxes.values()].find((candidate) => candidate.pid === pid);
    if (sandbox === undefined || held === undefined) continue;
    const { id } = sandbox;
    // A crun that was killed cannot take its container along.
    if (signal !== null) {
      const others = [...sandboxes.values()].flatMap((other) => (other === sandbox ? [] : (other.pid ?? [])));
      killStrays(others);
    }
    // The answer first: nothing of the container runs any more, and what is left of it is ours alone to see.
    send({
      type: "exited",
      id,
      at: monotonicMs(),
      code,
      signal,
      runtimeError: runtimeError(held.scratch, id, code),
      diskFull: held.rootFilesystems.isFull(id),
    });
    remove(held, sandbox);
  }
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
