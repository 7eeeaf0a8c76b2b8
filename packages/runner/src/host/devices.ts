import { closeSync, mkdirSync, openSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { MountFlag, makeDevice, mount, unmount } from "./syscalls.ts";

/** Names and numbers (https://www.kernel.org/doc/html/latest/admin-guide/devices.html). */
const DEVICES = [
  ["full", 1, 7],
  ["null", 1, 3],
  ["random", 1, 8],
  ["tty", 5, 0],
  ["urandom", 1, 9],
  ["zero", 1, 5],
] as const;

/** Programs and shells expect these links. */
const LINKS = [
  ["fd", "/proc/self/fd"],
  ["stdin", "/proc/self/fd/0"],
  ["stdout", "/proc/self/fd/1"],
  ["stderr", "/proc/self/fd/2"],
] as const;

const flags = MountFlag.nosuid | MountFlag.noexec;

/**
 * The /dev of containers, which mount it read-only. As root, this creates new devices for each container: all
 * containers would share the times, locks and watches of the machine's devices. An ordinary user cannot create devices,
 * so the containers share read-only binds of the machine's devices.
 */
export class Devices {
  /** Whether each container has its own devices, so that its directory must be on a mount without `nodev`. */
  readonly own: boolean;
  readonly #common: string;

  /** @param scratch a private tmpfs */
  constructor(scratch: string) {
    this.#common = `${scratch}/dev`;
    mkdirSync(this.#common);
    mount("tmpfs", this.#common, "tmpfs", flags, "mode=755,size=64k,nr_inodes=64");
    this.own = canMakeDevices(`${this.#common}/probe`);
    if (this.own) {
      unmount(this.#common);
      return;
    }
    makeLinks(this.#common);
    for (const [name] of DEVICES) bindDevice(`/dev/${name}`, `${this.#common}/${name}`);
    mount("tmpfs", this.#common, null, flags | MountFlag.remount | MountFlag.bind | MountFlag.readonly, null);
  }

  /** Creates the /dev of one container at this path. */
  make(path: string): void {
    if (!this.own) {
      symlinkSync(this.#common, path);
      return;
    }
    mkdirSync(path);
    makeLinks(path);
    makeDevices(path);
  }
}

function makeLinks(path: string): void {
  mkdirSync(`${path}/shm`);
  for (const [name, target] of LINKS) symlinkSync(target, `${path}/${name}`);
}

function makeDevices(path: string): void {
  const umask = process.umask(0);
  try {
    for (const [name, major, minor] of DEVICES) makeDevice(`${path}/${name}`, 0o666, major, minor);
  } finally {
    process.umask(umask);
  }
}

// The kernel rejects devices in user namespaces, and device cgroups reject creating or opening them.
function canMakeDevices(path: string): boolean {
  try {
    mkdirSync(path);
    makeDevices(path);
    for (const [name] of DEVICES.filter(([device]) => device !== "tty")) closeSync(openSync(`${path}/${name}`, "r+"));
    return true;
  } catch {
    return false;
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
}

function bindDevice(device: string, path: string): void {
  writeFileSync(path, "");
  mount(device, path, null, MountFlag.bind, null);
  try {
    mount(device, path, null, flags | MountFlag.remount | MountFlag.bind | MountFlag.readonly, null);
  } catch {
    // With a writable bind, functions can change the device's times, but nothing else.
  }
}
