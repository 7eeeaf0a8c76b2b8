import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { HOST_BASES } from "./host-bases-folder.ts";
import { type As, Workspace } from "./workspace.ts";

/** A base image that `xfn build` makes from the machine's files. */
export type HostBase = "node" | "python" | "sh";

/** The first lines of functions that get these bases. */
const FIRST_LINES: Readonly<Record<HostBase, string>> = {
  node: "#!/usr/bin/env node",
  python: "#!/usr/bin/env python3",
  sh: "#!/bin/sh",
};

const BUILD_MS = 120_000;
const LOOK_MS = 50;

/**
 * Copies base images into a workspace's store. The first workspace of a test run makes them: to pack Node takes five
 * seconds of processor time. Without the folder of a test run nothing is copied, and builds make their own bases.
 */
export async function addHostBases(workspace: Workspace, ...bases: HostBase[]): Promise<void> {
  const folder = process.env[HOST_BASES];
  if (folder === undefined) return;
  for (const base of bases) {
    const store = join(folder, `${base}-${workspace.as}`);
    if (!(await isMade(store, () => makeBase(base, workspace.as, store)))) return;
    const { status, stderr } = spawnSync("cp", ["-a", `${store}/.`, workspace.cache], { encoding: "utf8" });
    if (status !== 0) throw new Error(`cannot copy ${store}: ${stderr}`);
  }
}

/** Whether a base exists. The first caller makes it, and others wait for it. */
async function isMade(store: string, make: () => Promise<void>): Promise<boolean> {
  if (existsSync(store)) return true;
  const isFirst = await mkdir(`${store}.claim`).then(
    () => true,
    () => false,
  );
  if (isFirst) await make();
  for (const end = Date.now() + BUILD_MS; !existsSync(store) && Date.now() < end; ) await sleep(LOOK_MS);
  return existsSync(store);
}

async function makeBase(base: HostBase, as: As, store: string): Promise<void> {
  await using workspace = await Workspace.create({ as });
  await workspace.write("fn/function", `${FIRST_LINES[base]}\n`, { mode: 0o755 });
  const built = await workspace.xfn(["build", workspace.path("fn"), "-t", "fn"]);
  if (built.code !== 0) throw new Error(`cannot make the base of ${base}: ${built.stderr}`);
  // Keep the name of the base, but not that of the function.
  const names = join(workspace.cache, "names");
  for (const name of await readdir(names)) {
    const path = join(names, name);
    if (!(await readFile(path, "utf8")).includes("xfn-host-base/")) await rm(path);
  }
  await rename(workspace.cache, store);
}
