import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { before, leftovers } from "./leftovers.ts";
import { needs } from "./needs.ts";
import { USERS, Workspace } from "./workspace.ts";

describe.each(USERS)("leftovers of %s", (as) => {
  describe("if that user exists", as === "self" ? needs() : needs("ordinary-user"), () => {
    test("finds a process until it exits", async () => {
      await using workspace = await Workspace.create({ as });
      const state = await before(workspace.root);
      // Until its first output it may be in execve, when /proc shows neither arguments nor environment.
      const sleeper = workspace.start([process.execPath, "-e", 'console.log("here"); setTimeout(() => {}, 600_000)']);
      await new Promise((resolve) => sleeper.child.stdout?.once("data", resolve));
      expect(await leftovers(state, { graceMs: 0 })).toEqual([
        expect.stringContaining(`process ${sleeper.child.pid}: ${process.execPath} -e`),
      ]);
      sleeper.child.kill();
      expect((await sleeper.finished).signal).toBe("SIGTERM");
      expect(await leftovers(state)).toEqual([]);
    });

    test("finds a temporary file", async () => {
      await using workspace = await Workspace.create({ as });
      const state = await before(workspace.root);
      const { code } = await workspace.start(["mktemp"]).finished;
      expect(code).toBe(0);
      expect(await leftovers(state, { graceMs: 0 })).toEqual([expect.stringContaining(join(workspace.root, "tmp"))]);
    });
  });
});

test("ignores everything that existed before", async () => {
  await using workspace = await Workspace.create();
  await mkdir(join(workspace.root, "tmp", "old"));
  const state = await before(workspace.root);
  expect(await leftovers(state, { graceMs: 0 })).toEqual([]);
  await writeFile(join(workspace.root, "tmp", "new"), "");
  expect(await leftovers(state, { graceMs: 0 })).toHaveLength(1);
});

describe("a mount", needs("root"), () => {
  test("in the namespace of a process is found through that process", async () => {
    await using workspace = await Workspace.create();
    const state = await before(workspace.root);
    const target = await workspace.makeFolder("work/mounted");
    const script = `mount -t tmpfs none ${target} && echo mounted && exec env -i sleep 600`;
    const holder = workspace.start(["unshare", "--mount", "--propagation=private", "sh", "-c", script]);
    await new Promise((resolve) => holder.child.stdout?.once("data", resolve));
    expect(await leftovers(state, { graceMs: 0 })).toEqual([expect.stringMatching(/^process \d+: /)]);
    holder.child.kill("SIGKILL");
    await holder.finished;
    expect(await leftovers(state)).toEqual([]);
  });
});
