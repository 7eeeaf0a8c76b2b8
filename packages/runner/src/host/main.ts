// The sandbox host: a small process that is the first one of a user (for ordinary users), mount and pid namespace, makes
// root filesystems there and starts crun. When it ends, for whatever reason, the kernel kills every container with it
// and every mount disappears: that is how nothing is ever left behind, kill -9 included.
import { closeSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { HostRequest, HostResponse, InitRequest, StartRequest } from "./protocol.ts";
import { networkFiles } from "./protocol.ts";
import { RootFilesystems } from "./root-filesystem.ts";
import type { Sandbox } from "./sandbox.ts";
import { killRuntime, killSandbox, killStrays, removeSandbox, runtimeError, startSandbox } from "./sandbox.ts";
import { MountFlag, mount, reap } from "./syscalls.ts";

/** Where the host's cgroups stay reachable for joining, once crun sees an empty /sys/fs/cgroup. */
const cgroupDirectory = "cgroup";

interface Held {
  scratch: string;
  rootFilesystems: RootFilesystems;
}

/** crun ends within milliseconds of its container. One that hangs is killed, so that a call ends soon after its deadline. */
const RUNTIME_GRACE_MS = 1_000;

const sandboxes = new Map<string, Sandbox>();
/** Calls that were killed while their root filesystem was being made. */
const killedEarly = new Set<string>();
const preparing = new Set<string>();
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
    case "start":
      if (held !== undefined) await start(held, request);
      break;
    case "attached":
      closeOurEnds(request.id);
      break;
    case "kill":
      kill(request.id);
      break;
  }
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
    // crun 1.8 stops on hosts that mount both cgroup versions; it needs none of them here.
    mount(
      "tmpfs",
      "/sys/fs/cgroup",
      "tmpfs",
      MountFlag.nosuid | MountFlag.nodev | MountFlag.noexec,
      "mode=755,size=4k",
    );
  }
  return { scratch, rootFilesystems: new RootFilesystems(scratch) };
}

async function start(host: Held, request: StartRequest): Promise<void> {
  const { id } = request;
  preparing.add(id);
  let prepared: { rootfs: "overlay" | "copy"; notice?: string };
  try {
    prepared = await host.rootFilesystems.prepare(request);
  } catch (error) {
    send({ type: "startFailed", id, stage: "rootfs", message: messageOf(error) });
    return;
  } finally {
    preparing.delete(id);
  }
  try {
    if (killedEarly.delete(id)) throw new Error("killed before it started");
    const cgroupProcs = request.cgroupProcs.map((path) => `${host.scratch}/${cgroupDirectory}/${path}`);
    const sandbox = startSandbox(host.scratch, { ...request, cgroupProcs });
    sandboxes.set(id, sandbox);
    send({ type: "started", id, fds: sandbox.fds, ...prepared });
  } catch (error) {
    removeSandbox(host.scratch, id);
    send({ type: "startFailed", id, stage: "spawn", message: messageOf(error) });
  }
}

function closeOurEnds(id: string): void {
  const sandbox = sandboxes.get(id) ?? ended.get(id);
  if (sandbox === undefined) return;
  for (const fd of sandbox.fds) closeSync(fd);
  sandbox.fds = [-1, -1, -1];
  ended.delete(id);
}

/** Containers that ended before the runner opened its ends: what they wrote is still in our pipes. */
const ended = new Map<string, Sandbox>();

function kill(id: string): void {
  const sandbox = sandboxes.get(id);
  if (sandbox !== undefined && held !== undefined) {
    killSandbox(held.scratch, sandbox);
    setTimeout(() => {
      if (sandboxes.has(id)) killRuntime(sandbox);
    }, RUNTIME_GRACE_MS).unref();
  } else if (preparing.has(id)) killedEarly.add(id);
}

function reapAll(): void {
  for (let status = reap(); status !== undefined; status = reap()) {
    const { pid, code, signal } = status;
    const sandbox = [...sandboxes.values()].find((candidate) => candidate.pid === pid);
    if (sandbox === undefined || held === undefined) continue;
    sandboxes.delete(sandbox.id);
    if (sandbox.fds[0] !== -1) ended.set(sandbox.id, sandbox);
    // A crun that was killed cannot take its container along.
    if (signal !== null) killStrays([...sandboxes.values()].map((other) => other.pid));
    // The answer first: nothing of the container runs any more, and what is left of it is ours alone to see.
    send({
      type: "exited",
      id: sandbox.id,
      code,
      signal,
      runtimeError: runtimeError(held.scratch, sandbox.id),
      diskFull: held.rootFilesystems.isFull(sandbox.id),
    });
    removeSandbox(held.scratch, sandbox.id);
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
