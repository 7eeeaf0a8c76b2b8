// The sandbox host: a small process, the first one of a user (for ordinary users), mount and pid namespace. It makes
// root filesystems there and starts crun. When it ends for any reason, kill -9 included, the kernel kills every
// container and removes every mount.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { messageOf } from "../base/error-text.ts";
import { readText } from "../base/read-text.ts";
import { ContainerHost } from "./container-host.ts";
import type { HostRequest, HostResponse, InitRequest, PrepareRequest } from "./protocol.ts";
import { networkFiles } from "./protocol.ts";
import { MountFlag, mount } from "./syscalls.ts";

const CGROUPS = "/sys/fs/cgroup";

/** Texts of config.json. The runner bounds their number and size. */
const configs = new Map<number, string>();
let host: ContainerHost | undefined;

process.on("message", (message) => void handle(message as HostRequest));
process.on("disconnect", () => process.exit(0));
process.on("SIGCHLD", () => host?.reap());

async function handle(request: HostRequest): Promise<void> {
  switch (request.type) {
    case "init":
      initialise(request);
      break;
    case "config":
      if (request.number === 0) configs.clear();
      configs.set(request.number, request.text);
      break;
    case "prepare":
      await prepare(request);
      break;
    case "load":
      host?.load(request);
      break;
    case "start":
      host?.start(request);
      break;
    case "kill":
      host?.kill(request);
      break;
    case "move":
      host?.move(request);
      break;
    case "measure":
      host?.measure(request);
      break;
    case "connect":
      await host?.connect(request);
      break;
  }
}

function initialise({ scratch }: InitRequest): void {
  try {
    // Containers have other ids than the runner and must be able to read these files, whatever the runner's umask.
    process.umask(0o022);
    mount("tmpfs", scratch, "tmpfs", MountFlag.nosuid | MountFlag.nodev, "mode=755,size=64m");
    const files = networkFiles(scratch);
    writeFileSync(files.resolvConf, readText("/etc/resolv.conf"));
    writeFileSync(files.hosts, readText("/etc/hosts"));
    // Keeps the host's cgroups reachable for joining, once crun sees an empty /sys/fs/cgroup.
    const cgroups = `${scratch}/cgroup`;
    if (existsSync(CGROUPS)) {
      mkdirSync(cgroups);
      mount(CGROUPS, cgroups, null, MountFlag.bind | MountFlag.recursive, null);
      hideCgroups();
    }
    host = new ContainerHost(scratch, cgroups, send);
    send({ type: "ready" });
  } catch (error) {
    send({ type: "failed", message: messageOf(error) });
  }
}

// crun 1.8 stops on hosts that mount both cgroup versions; it needs none of them here. runc wants a group in each
// version 1 hierarchy, and does without those that it finds read-only.
function hideCgroups(): void {
  const flags = MountFlag.nosuid | MountFlag.nodev | MountFlag.noexec;
  mount("tmpfs", CGROUPS, "tmpfs", flags, "mode=755,size=4k");
  for (const line of readText("/proc/self/cgroup").split("\n")) {
    const controllers = line.split(":")[1] ?? "";
    for (const controller of controllers.replace("name=", "").split(",").filter(Boolean))
      mkdirSync(`${CGROUPS}/${controller}`, { recursive: true });
  }
  mount("tmpfs", CGROUPS, "tmpfs", flags | MountFlag.remount | MountFlag.readonly, "mode=755,size=4k");
}

async function prepare(request: PrepareRequest): Promise<void> {
  // Look the text up at once: the next message may replace it.
  const config = configs.get(request.config);
  if (config === undefined) {
    const message = `no config.json was sent with number ${request.config}`;
    send({ type: "prepareFailed", id: request.id, message });
    return;
  }
  await host?.prepare(request, config);
}

function send(response: HostResponse, socket?: Socket): void {
  // Without a connection the runner is gone, and `disconnect` ends this process.
  if (process.connected) process.send?.(response, socket);
}
