// The sandbox host: a small process, the first one in a mount and pid namespace (and a user namespace, for ordinary
// users). It creates root filesystems there and starts crun. When it ends for any reason, including kill -9, the kernel
// kills every container and removes every mount.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { readText } from "../base/read-text.ts";
import { ContainerHost } from "./container-host.ts";
import { networkFiles } from "./protocol.ts";
import { type Send, serveRequests } from "./serve-requests.ts";
import { MountFlag, mount } from "./syscalls.ts";

const CGROUPS = "/sys/fs/cgroup";

serveRequests(open, () => process.exit(0));

function open(scratch: string, send: Send): ContainerHost {
  mount("tmpfs", scratch, "tmpfs", MountFlag.nosuid | MountFlag.nodev, "mode=755,size=64m");
  const files = networkFiles(scratch);
  writeFileSync(files.resolvConf, readText("/etc/resolv.conf"));
  writeFileSync(files.hosts, readText("/etc/hosts"));
  // The host's cgroups must stay reachable for joining after crun sees an empty /sys/fs/cgroup.
  const cgroups = `${scratch}/cgroup`;
  if (existsSync(CGROUPS)) {
    mkdirSync(cgroups);
    mount(CGROUPS, cgroups, null, MountFlag.bind | MountFlag.recursive, null);
    hideCgroups();
  }
  return new ContainerHost(scratch, cgroups, send);
}

// crun 1.8 stops on hosts that mount both cgroup versions, but needs neither here. runc requires a group in each
// version 1 hierarchy, except in those that are read-only.
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
