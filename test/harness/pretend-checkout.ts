import { readFileSync } from "node:fs";
import { cp, symlink } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { addHostBases } from "./host-bases.ts";
import { CHECKOUT, XFN_MAIN } from "./paths.ts";
import type { Finished, Workspace } from "./workspace.ts";

/** Vitest as `npm test` starts it. */
const VITEST = join(CHECKOUT, "node_modules", "vitest", "vitest.mjs");

/**
 * Makes the workspace look like a checkout: `./xfn` without its set-up, the examples, the packages. Commands of the
 * documentation can run in it unchanged, and their output stays in it.
 */
export async function pretendCheckout(workspace: Workspace): Promise<void> {
  await addHostBases(workspace, "node");
  const filter = (path: string): boolean => !path.endsWith("/dist");
  await cp(join(CHECKOUT, "examples"), workspace.path("examples"), { recursive: true, filter });
  await symlink(join(CHECKOUT, "node_modules"), workspace.path("node_modules"));
  await workspace.write("xfn", `#!/bin/sh\nexec '${process.execPath}' '${XFN_MAIN}' "$@"\n`, { mode: 0o755 });
}

/**
 * Runs a command of the documentation in a pretended checkout. `npm test` omits its set-up and its summary, and `node`
 * is the one of the tests.
 */
export function runCommand(workspace: Workspace, command: string): Promise<Finished> {
  const line = command
    .replace(/^npm test --/, `'${process.execPath}' '${VITEST}' run`)
    .replace(/^node /, `'${process.execPath}' `);
  return workspace.start(["sh", "-c", line]).finished;
}

/** Returns the images that `./xfn` builds before it renders an example: folders relative to `examples/`, and names. */
export function exampleImages(): { folder: string; image: string }[] {
  return readFileSync(join(CHECKOUT, "examples", "images.txt"), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [folder = "", image = ""] = line.split(/\s+/);
      return { folder, image };
    });
}

/** Builds an example's images in a pretended checkout, as `./xfn` would. */
export async function buildExampleImages(workspace: Workspace, example: string): Promise<void> {
  for (const { folder, image } of exampleImages().filter(({ folder }) => folder.startsWith(`${example}/`))) {
    const { code, stderr } = await workspace.xfn(["build", `examples/${folder}`, "-t", image]);
    if (code !== 0) throw new Error(`cannot build ${image}: ${stderr}`);
  }
}
