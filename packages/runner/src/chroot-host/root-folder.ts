import { lstatSync, rmSync, writeFileSync } from "node:fs";
import { lchown, opendir } from "node:fs/promises";
import { join } from "node:path";
import { quietly } from "../base/quietly.ts";
import { readText } from "../base/read-text.ts";
import { flattenOnThread } from "../host/flatten-thread.ts";
import { makeDevice } from "../host/syscalls.ts";

/** Devices that programs expect, with their numbers. */
const DEVICES = [
  ["full", 7],
  ["null", 3],
  ["random", 8],
  ["urandom", 9],
  ["zero", 5],
] as const;
/** The major number of memory devices. */
const MEMORY = 1;

/** Copies the layers of an image to a new folder, whose files belong to the function. */
export async function makeRoot(layers: readonly string[], root: string, id: number): Promise<void> {
  await flattenOnThread(layers, root);
  addNetworkFiles(root);
  await giveTo(root, id);
  addDevices(root);
}

async function giveTo(folder: string, id: number): Promise<void> {
  for await (const entry of await opendir(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await giveTo(path, id);
    else await lchown(path, id, id);
  }
  await lchown(folder, id, id);
}

/** The function has the runner's network, and resolves names as the runner does. */
function addNetworkFiles(root: string): void {
  const folder = join(root, "etc");
  // A link in the image can lead anywhere.
  if (!isFolder(folder)) return;
  for (const name of ["resolv.conf", "hosts"]) {
    const path = join(folder, name);
    rmSync(path, { recursive: true, force: true });
    writeFileSync(path, readText(`/etc/${name}`), { flag: "wx", mode: 0o644 });
  }
}

// Without CAP_MKNOD, or on a file system without devices, a function has no devices.
function addDevices(root: string): void {
  const folder = join(root, "dev");
  if (!isFolder(folder)) return;
  const umask = process.umask(0);
  try {
    for (const [name, minor] of DEVICES) {
      quietly(() => {
        rmSync(join(folder, name), { recursive: true, force: true });
        makeDevice(join(folder, name), 0o666, MEMORY, minor);
      });
    }
  } finally {
    process.umask(umask);
  }
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
