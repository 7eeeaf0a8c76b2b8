import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { openStore } from "@xfn/oci-rootfs";
import { sandboxOwner } from "@xfn/runner";
import { build } from "esbuild";
import { CHECKOUT, ORDINARY_UID } from "../harness/places.ts";
import { which } from "../harness/which.ts";
import { KERNEL_DIRECTORY } from "./kernel.ts";
import type { Kind } from "./checks.ts";

/** How one story went. */
export interface Told {
  kind: Kind;
  name: string;
  ms: number;
  /** Why it does not hold; absent where it does. */
  error?: string;
}

/** What the virtual machine had to say. */
export interface Report {
  told: Told[];
  /** All that it printed, for when something is missing. */
  console: string;
}

/** Boot and stories take well under a minute on two processors that have nothing else to do, and several times that beside
 * other tests. */
const STORIES_MS = 540_000;

// From the start to the first process takes 2 s, and 10 s where four boot at once on two processors. An emulated machine
// may hang or end before that, which says nothing about what is tested in it: it is started again.
const BOOT_MS = 120_000;
const BOOT_TRIES = 3;

/** The longest that {@link tellInVm} takes. */
export const VM_MS: number = (BOOT_TRIES - 1) * BOOT_MS + STORIES_MS + 60_000;

// What init.sh says first.
const BOOTED = "@@xfn booted";

// The modules for the host's files (9p over virtio) and for overlays, each after those that it needs.
const MODULES = [
  "virtio_ring",
  "virtio",
  "virtio_pci_modern_dev",
  "virtio_pci_legacy_dev",
  "virtio_pci",
  "netfs",
  "fscache",
  "9pnet",
  "9pnet_virtio",
  "9p",
  "overlay",
];

/**
 * Boots a small machine whose files are this host's, read-only, below memory of its own, and whose cgroups are version 2
 * alone; has the stories told in it with the image of an OCI layout. It is emulated: KVM is not at hand where tests run.
 */
export async function tellInVm(layout: string): Promise<Report> {
  const folder = await mkdtemp(join(tmpdir(), "xfn-vm-"));
  try {
    await chmod(folder, 0o755);
    const initramfs = await makeInitramfs(folder);
    const stories = await bundleStories(folder);
    // Where every user may read it.
    const image = `oci:${join(folder, "layout")}`;
    run("cp", ["-r", layout, join(folder, "layout")]);
    run("chmod", ["-R", "a+rX", join(folder, "layout")]);
    await makeStores(join(folder, "stores"), image);
    const settings = {
      CHECKOUT,
      NODE: process.execPath,
      STORIES: stories,
      STORES: join(folder, "stores"),
      IMAGE: image,
      ORDINARY_UID,
      GUEST: `${CHECKOUT}/test/cgroup-v2/guest.sh`,
    };
    // What the kernel does not know it hands to init as environment.
    const append = [
      "console=ttyS0",
      // What it says before it has a console: a hang is told with its place.
      "earlyprintk=ttyS0",
      // Where the kernel lies is a matter of chance otherwise, and one that does not boot could not be found again.
      "nokaslr",
      "panic=-1",
      ...Object.entries(settings).map(([name, value]) => `${name}=${value}`),
    ];
    const options = {
      // QEMU emulates page tables of five levels with faults.
      cpu: "max,la57=off",
      m: "2048",
      smp: "2",
      serial: "stdio",
      fsdev: "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap",
      device: "virtio-9p-pci,fsdev=host,mount_tag=host",
      kernel: join(KERNEL_DIRECTORY, "vmlinuz"),
      initrd: initramfs,
      append: append.join(" "),
    };
    const pairs = Object.entries(options).map(([name, value]) => [`-${name}`, value]);
    const output = await untilBooted(["-nographic", "-no-reboot", "-nodefaults", ...pairs.flat()]);
    const told = output.split("\n").flatMap((line) => {
      const [, json] = /@@xfn (\{.*\})/.exec(line) ?? [];
      return json === undefined ? [] : [JSON.parse(json) as Told];
    });
    return { told, console: output };
  } finally {
    await rm(folder, { recursive: true });
  }
}

// The stories with the built runner, in a few files: of all that a program does there, reading modules takes longest. What the
// runner starts by path is where it looks for it, beside itself.
async function bundleStories(folder: string): Promise<string> {
  const built = (path: string): string => `${CHECKOUT}/packages/${path}`;
  await build({
    entryPoints: {
      stories: fileURLToPath(new URL("run-checks.ts", import.meta.url)),
      "unpack-worker": built("oci-rootfs/dist/unpack-worker.js"),
      "host/main": built("runner/dist/host/main.js"),
      "host/flatten-worker": built("runner/dist/host/flatten-worker.js"),
    },
    outdir: join(folder, "stories"),
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node24",
    external: ["koffi"],
    banner: {
      js: 'import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);',
    },
    logLevel: "warning",
  });
  await symlink(`${CHECKOUT}/node_modules`, join(folder, "node_modules"));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  return join(folder, "stories/stories.js");
}

// One for root and one for the other user: unpacking the image there would take longer than the stories.
async function makeStores(folder: string, image: string): Promise<void> {
  const owner = sandboxOwner();
  const root = await openStore({ dir: join(folder, "root"), ...(owner === undefined ? {} : { owner }) });
  const user = await openStore({ dir: join(folder, "user") });
  for (const store of [root, user]) await store.image(image);
  run("chown", ["-R", `${ORDINARY_UID}:${ORDINARY_UID}`, join(folder, "user")]);
}

async function makeInitramfs(folder: string): Promise<string> {
  const root = join(folder, "root");
  for (const name of ["bin", "modules"]) await mkdir(join(root, name), { recursive: true });
  await copyFile(which("busybox") ?? "/bin/busybox", join(root, "bin/busybox"));
  await symlink("busybox", join(root, "bin/sh"));
  // Some kernels have one of them built in, or in another.
  const modules = MODULES.filter((name) => existsSync(join(KERNEL_DIRECTORY, `${name}.ko`)));
  for (const name of modules) await copyFile(join(KERNEL_DIRECTORY, `${name}.ko`), join(root, "modules", `${name}.ko`));
  await writeFile(join(root, "modules/order"), `${modules.join("\n")}\n`);
  const init = await readFile(new URL("init.sh", import.meta.url));
  await writeFile(join(root, "init"), init, { mode: 0o755 });
  const archive = join(folder, "initramfs");
  run("sh", ["-c", `cd "$1" && find . | cpio --quiet -o -H newc >"$2"`, "sh", root, archive]);
  return archive;
}

function run(program: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${program}: ${stderr}`);
}

/** What a machine that has booted printed, or the last one that has not. */
async function untilBooted(args: readonly string[]): Promise<string> {
  for (let tries = 1; ; tries++) {
    const output = await qemu(args);
    if (output.includes(BOOTED) || tries === BOOT_TRIES) return output;
  }
}

async function qemu(args: readonly string[]): Promise<string> {
  const child = spawn("qemu-system-x86_64", args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  const limit = (ms: number): NodeJS.Timeout => setTimeout(() => child.kill("SIGKILL"), ms);
  let timer = limit(BOOT_MS);
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      const booting = !output.includes(BOOTED);
      output += chunk;
      if (!booting || !output.includes(BOOTED)) return;
      clearTimeout(timer);
      timer = limit(STORIES_MS);
    });
  }
  try {
    await new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
  } finally {
    clearTimeout(timer);
  }
  return output.replaceAll("\r", "");
}
