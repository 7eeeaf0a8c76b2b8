import { defineConfig } from "vitest/config";

// `unit` needs nothing but Node and a build; `e2e` needs crun and a registry too. What a machine lacks is skipped
// with its reason: see test/harness/needs.ts and test/host-skips.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["packages/*/src/**/*.test.ts", "examples/**/*.test.ts", "test/unit/**/*.test.ts"],
          // Ends what hangs; some start Node or a bundler several times, on a machine that may be busy.
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts", "test/harness/**/*.test.ts", "test/cgroup-v2/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 300_000,
          maxWorkers: 2,
        },
      },
    ],
  },
});
