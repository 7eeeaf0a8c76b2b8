import process from "node:process";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { COMPILE_CACHE } from "./test/harness/compile-cache.ts";

// The words between a test's name and `.test.ts`, in this order (test/check/test-names.test.ts):
//
// - `long`: left out by `npm test`, and run by `npm run test:long`
// - `host`: depends on the user, so that CI runs it as root and as an ordinary user
// - `cluster`: needs an API server
// - `mocks`: a unit test that replaces a module (vi.mock)

/** The set of scripts/test.sh: `short` leaves out long tests, `all` does not; `long` and `host` have these alone. */
const SET = process.env["XFN_TEST_SET"] ?? "";

const LONG = ["**/*.long.test.ts", "**/*.long.*.test.ts"];
const CLUSTER = "**/*.cluster.test.ts";
const MOCKS = "**/*.mocks.test.ts";

/** The tests of these folders in the set. @param last the last word of their names, such as `.cluster` */
function testsIn(folders: readonly string[], last = ""): string[] {
  const names =
    SET === "long" || SET === "host" ? [`*.${SET}${last}.test.ts`, `*.${SET}.*${last}.test.ts`] : [`*${last}.test.ts`];
  return folders.flatMap((folder) => names.map((name) => `${folder}/**/${name}`));
}

const without = (...globs: string[]): string[] => ["**/node_modules/**", ...globs, ...(SET === "short" ? LONG : [])];

/** The longest first: one that starts last would run alone while the other cores idle. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification): number =>
      moduleId.includes(".long.") ? 0 : project.name.startsWith("unit") ? 2 : 1;
    // Files of equal rank keep vitest's order: by their last duration, or by size.
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => rank(a) - rank(b));
  }
}

// Vitest runs one group of projects after the other, and workers idle at the end of each group. So there is one group,
// unless scripts/test-needs.sh is building the API server: then tests that need it run last.
const CLUSTER_GROUP = process.env["XFN_TEST_CLUSTER"] === "last" ? 1 : 0;

// On a machine that does much else a test may wait this long. Both only end what hangs: no test asserts a duration.
const common = {
  expect: { poll: { timeout: 60_000 } },
  testTimeout: 240_000,
  hookTimeout: 300_000,
  // Two more than the smallest machine of CI has cores: most tests wait for containers, servers and timers.
  maxWorkers: 4,
  setupFiles: "test/harness/remove-folders.ts",
} satisfies TestProjectInlineConfiguration["test"];

/** Threads and processes that unit tests start from sources compile a module once. */
const compiling = { env: COMPILE_CACHE, globalSetup: "test/harness/compile-cache.ts" };

// `unit` and `unit-mocks` need nothing but Node and a build; `e2e` needs crun and a registry too, `cluster` an API
// server. What a machine lacks is skipped with its reason: see test/harness/needs.ts and test/host-skips.
export default defineConfig({
  test: {
    sequence: { sequencer: LongFirst },
    // Messages show whole values: a list of leaks without its items does not help.
    chaiConfig: { truncateThreshold: 0 },
    projects: [
      {
        test: {
          ...common,
          ...compiling,
          name: "unit",
          // A third of the processor time was the start of a worker for each file, and its loading of the same modules.
          isolate: false,
          include: testsIn(["packages/*/src", "examples", "test/unit"]),
          exclude: without(MOCKS),
        },
      },
      {
        test: {
          ...common,
          ...compiling,
          // Workers of their own: the others share loaded modules.
          name: "unit-mocks",
          include: testsIn(["packages/*/src"], ".mocks"),
          exclude: without(),
        },
      },
      {
        test: {
          ...common,
          // Each file has a worker of its own. With shared workers, `npm test` took a fifth longer.
          name: "e2e",
          globalSetup: "test/harness/host-bases-folder.ts",
          include: testsIn(["test/e2e", "test/harness", "test/cgroup-v2", "test/sweep"]),
          exclude: without(CLUSTER),
        },
      },
      {
        test: {
          ...common,
          name: "cluster",
          globalSetup: "test/harness/host-bases-folder.ts",
          include: testsIn(["test/e2e", "test/sweep"], ".cluster"),
          exclude: without(),
          hookTimeout: 1_200_000,
          sequence: { groupOrder: CLUSTER_GROUP },
        },
      },
      {
        test: {
          ...common,
          // Checks of sources, documentation and packages: `npm run check` runs them, and no set has them.
          name: "check",
          isolate: false,
          include: SET === "" ? ["test/check/**/*.test.ts"] : [],
        },
      },
    ],
  },
});
