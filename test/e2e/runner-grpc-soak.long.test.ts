import { describe, expect, test } from "vitest";
import { needs } from "../harness/needs.ts";
import { Workspace } from "../harness/workspace.ts";
import { problemsOf, soak } from "../soak/soak.ts";

// `npm run soak` makes 100,000 calls. Each tenth contains every kind of fault.
const CALLS = 2_000;

// A bound that a runner must survive.
const MEMORY_BYTES = needs("root", "cgroup-limits").skip ? undefined : 1024 * 1024 * 1024;

describe("a runner after thousands of calls, a fifth of which fail", needs("crun"), () => {
  test("still serves, and leaks no resources", { timeout: 600_000 }, async () => {
    await using workspace = await Workspace.create();
    expect(problemsOf(await soak(workspace, { calls: CALLS, concurrency: 4, memoryBytes: MEMORY_BYTES }))).toEqual([]);
  });
});
