import process from "node:process";
import { describe, expect, test } from "vitest";
import { MemoryGroup } from "../../packages/runner/testing/memory-group.ts";
import { before, leftovers } from "./leftovers.ts";
import { needs } from "./needs.ts";
import { Workspace } from "./workspace.ts";

const MiB = 1024 * 1024;
// Takes 64 MB in one process.
const HUNGRY = [process.execPath, "-e", "Buffer.alloc(64_000_000, 1)"];

describe("a memory group", needs("root", "cgroup-limits"), () => {
  test("bounds the memory of a program, counts the kills, and is removed", async () => {
    await using workspace = await Workspace.create();
    const state = await before(workspace.root);
    {
      await using group = MemoryGroup.create(32 * MiB);
      const ours = (await leftovers(state, { graceMs: 0 })).filter((thing) => thing.includes(`/xfn-${process.pid}-`));
      expect(ours).toHaveLength(1);
      expect(group.kills()).toBe(0);
      const { code, signal } = await workspace.start(group.command(HUNGRY)).finished;
      expect({ code, signal }).toEqual({ code: null, signal: "SIGKILL" });
      expect(group.kills()).toBeGreaterThan(0);
    }
    expect(await leftovers(state)).toEqual([]);
  });

  test("passes on the process id, the arguments and the exit code", async () => {
    await using workspace = await Workspace.create();
    await using group = MemoryGroup.create(64 * MiB);
    const program = workspace.start(group.command(["sh", "-c", 'echo "$$ $0"; exit 3', "a  b"]));
    const { pid } = program.child;
    expect(await program.finished).toMatchObject({ code: 3, stdout: `${pid} a  b\n` });
    expect(group.kills()).toBe(0);
  });
});
