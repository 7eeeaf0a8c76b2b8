import { defineConfig } from "vitest/config";

// Tests with an API server.
const CLUSTER = [
  "test/e2e/{kubernetes,definition,revision,composite,claim,provider,dev}-*.test.ts",
  "test/e2e/{xfn-,}controller*.test.ts",
  "test/sweep/**/*.test.ts",
];

// Globs, separated by spaces: `--exclude` on the command line does not reach projects.
const EXCLUDED = (process.env["XFN_TEST_EXCLUDE"] ?? "").split(" ").filter((glob) => glob !== "");

// As long as tests on a machine that does much else take to see what they wait for. What never comes is told of then.
const expectations = { poll: { timeout: 20_000 } };

// `unit` needs nothing but Node and a build; `e2e` needs crun and a registry too, `cluster` an API server. What a machine lacks
// is skipped with its reason: see test/harness/needs.ts and test/host-skips.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          expect: expectations,
          maxWorkers: 2,
          include: ["packages/*/src/**/*.test.ts", "examples/**/*.test.ts", "test/unit/**/*.test.ts"],
          exclude: ["**/node_modules/**", ...EXCLUDED],
          // Ends what hangs; some start Node or a bundler several times, on a machine that may be busy.
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: "e2e",
          expect: expectations,
          include: ["test/e2e/**/*.test.ts", "test/harness/**/*.test.ts", "test/cgroup-v2/**/*.test.ts"],
          exclude: [...CLUSTER, ...EXCLUDED],
          testTimeout: 60_000,
          hookTimeout: 300_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: "cluster",
          expect: expectations,
          include: CLUSTER,
          exclude: EXCLUDED,
          testTimeout: 60_000,
          hookTimeout: 1_200_000,
          maxWorkers: 2,
          // The last: meanwhile scripts/test.sh may still be building the API server.
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
