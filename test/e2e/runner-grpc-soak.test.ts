import { describe, expect, test } from "vitest";
import { needs } from "../harness/needs.ts";
import { Workspace } from "../harness/workspace.ts";
import { problemsOf, soak } from "../soak/soak.ts";

// `npm run soak` makes 100,000. Each tenth has its share of every kind of fault.
const CALLS = 5_000;

describe("a runner that is called thousands of times, a fifth of them with a fault", needs("crun"), () => {
  test("serves on, and holds no more than before", { timeout: 600_000 }, async () => {
    await using workspace = await Workspace.create();
    expect(problemsOf(await soak(workspace, { calls: CALLS, concurrency: 4 }))).toEqual([]);
  });
});
