import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { openStore } from "@xfn/oci-rootfs";
import { sandboxOwner } from "@xfn/runner";
import { build } from "esbuild";
import { CHECKOUT, ORDINARY_UID } from "../harness/paths.ts";
import { which } from "../harness/which.ts";
import type { Kind } from "./checks.ts";
import { KERNEL_DIRECTORY } from "./kernel.ts";

export interface CheckResult {
  kind: Kind;
  name: string;
  ms: number;
  /** Absent if the check succeeded. */
  error?: string;
}

export interface Report {
  results: CheckResult[];
  /** The whole output of the machine, for missing results. */
  console: string;
}

// Boot and checks take less than a minute on two idle processors, and several times that while other tests run.
const CHECKS_MS = 540_000;

// The first process starts after 2 s, or after 10 s if four machines boot at once on two processors. An emulated
// machine may hang or end before that; then it is started again.
const BOOT_MS = 120_000;
const BOOT_TRIES = 3;

/** The time limit of {@link runInVm}. */
export const VM_MS: number = (BOOT_TRIES - 1) * BOOT_MS + CHECKS_MS + 60_000;

// The first output of init.sh.
const BOOTED = "@@xfn booted";

// The modules for the host's files (9p over virtio) and for overlays, each after its dependencies.
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
 * Boots a small virtual machine with only cgroup v2, and runs the checks in it with the image of an OCI layout. Its
 * root is an overlay of this host's files (read-only) and memory. It is emulated, because test machines lack KVM.
 */
export async function runInVm(layout: string): Promise<Report> {
  // Not in tmpdir(), which may be in /dev/shm: the machine has a /dev of its own.
  const folder = await mkdtemp("/var/tmp/xfn-vm-");
  try {
    await chmod(folder, 0o755);
    const initramfs = await makeInitramfs(folder);
    const program = await bundleChecks(folder);
    // A copy that every user can read.
    const image = `oci:${join(folder, "layout")}`;
    run("cp", ["-r", layout, join(folder, "layout")]);
    run("chmod", ["-R", "a+rX", join(folder, "layout")]);
    await makeStores(join(folder, "stores"), image);
    const settings = {
      CHECKOUT,
      NODE: process.execPath,
      CHECKS: program,
      STORES: join(folder, "stores"),
      IMAGE: image,
      ORDINARY_UID,
      GUEST: `${CHECKOUT}/test/cgroup-v2/guest.sh`,
    };
    // The kernel passes parameters that it does not know to init as environment variables.
    const append = [
      "console=ttyS0",
      // Prints messages from before the console exists, so that a hang can be located.
      "earlyprintk=ttyS0",
      // Without a random address, a kernel that does not boot can be reproduced.
      "nokaslr",
      "panic=-1",
      ...Object.entries(settings).map(([name, value]) => `${name}=${value}`),
    ];
    const options = {
      // QEMU's emulation of five-level page tables is faulty.
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
    const results = output.split("\n").flatMap((line) => {
      const [, json] = /@@xfn (\{.*\})/.exec(line) ?? [];
      return json === undefined ? [] : [JSON.parse(json) as CheckResult];
    });
    return { results, console: output };
  } finally {
    await rm(folder, { recursive: true });
  }
}

// Bundles the checks with the built runner into a few files, because reading modules takes longest in the machine. The
// layout of the folders is the packages' own: the runner starts its host and its workers by relative paths.
async function bundleChecks(folder: string): Promise<string> {
  const built = (path: string): string => `${CHECKOUT}/packages/${path}`;
  await build({
    entryPoints: {
      "sandbox/checks": fileURLToPath(new URL("run-checks.ts", import.meta.url)),
      "sandbox/worker": built("oci-rootfs/dist/worker/worker.js"),
      "host/main-bundle": built("runner/dist/host/main.js"),
      "host/flatten-worker": built("runner/dist/host/flatten-worker.js"),
    },
    outdir: join(folder, "program"),
    chunkNames: "sandbox/[name]-[hash]",
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
  return join(folder, "program/sandbox/checks.js");
}

// Fills a store for root and one for the ordinary user: unpacking the image in the machine would take longer than the
// checks.
async function makeStores(folder: string, image: string): Promise<void> {
  const root = await openStore({ dir: join(folder, "root"), owner: sandboxOwner() });
  const user = await openStore({ dir: join(folder, "user") });
  for (const store of [root, user]) await store.image(image);
  run("chown", ["-R", `${ORDINARY_UID}:${ORDINARY_UID}`, join(folder, "user")]);
}

async function makeInitramfs(folder: string): Promise<string> {
  const root = join(folder, "root");
  for (const name of ["bin", "modules"]) await mkdir(join(root, name), { recursive: true });
  await copyFile(which("busybox") ?? "/bin/busybox", join(root, "bin/busybox"));
  await symlink("busybox", join(root, "bin/sh"));
  // In some kernels a module is built in, or is part of another one.
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

/** Returns the output of the first machine that boots, or of the last try. */
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
      timer = limit(CHECKS_MS);
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
