import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { COMPILE_CACHE } from "./test/harness/compile-cache.ts";

// Tests with an API server.
const CLUSTER = [
  "test/e2e/{kubernetes,definition,revision,composite,claim,provider,dev}-*.test.ts",
  "test/e2e/{xfn-,}controller*.test.ts",
  "test/e2e/{multi-tenancy-page,resource-composition,cel-rules}.test.ts",
  "test/sweep/**/*.test.ts",
];

// Globs, separated by spaces: `--exclude` on the command line does not reach projects.
const EXCLUDED = (process.env["XFN_TEST_EXCLUDE"] ?? "").split(" ").filter((glob) => glob !== "");

// Unit tests that replace a module (vi.mock). They need workers of their own: the others share loaded modules.
const MOCKING = [
  "packages/oci-rootfs/src/registry/redirect-by-name.test.ts",
  "packages/oci-rootfs/src/worker/threads.test.ts",
  "packages/runner/src/host/runtime-copy.test.ts",
  "packages/runner/src/host/shared-roots.test.ts",
];

// The slowest files, which start first: one that starts last would run alone while the other cores idle.
const SLOW = [
  "test/e2e/runner-grpc-soak.",
  // Most of its time is waiting.
  "test/sweep/sweep.",
  "test/cgroup-v2/",
  "packages/oci-rootfs/src/store/mutated-layers.",
  "test/e2e/init.",
  // It waits a minute for Kubernetes to collect the objects of deleted kinds.
  "test/e2e/xfn-controller-page.",
  "test/e2e/examples.",
  "test/e2e/runner-grpc-interop.",
  "packages/oci-rootfs/src/store/crash.",
  "test/sweep/",
  "test/e2e/xfn-controller.",
  "test/e2e/definition-lifecycle.",
  "test/e2e/registry-cli.",
  "test/e2e/xfn-runner-",
  "packages/oci-rootfs/src/layer/hostile-layers.",
  "test/unit/fuzz.",
];

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const index = SLOW.findIndex((part) => moduleId.includes(part));
      return index < 0 ? SLOW.length : index;
    };
    // Files of equal rank keep vitest's order: by their last duration, or by size.
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => rank(a) - rank(b));
  }
}

// Two more than the smallest machine of CI has cores: most tests wait for containers, servers and timers.
const WORKERS = 4;

// Vitest runs one group of projects after the other, and workers idle at the end of each group. So there is one group,
// unless scripts/test-needs.sh is building the API server: then tests that need it run last.
const CLUSTER_GROUP = process.env["XFN_TEST_CLUSTER"] === "last" ? 1 : 0;

// On a machine that does much else a test may wait this long. Both only end what hangs: no test asserts a duration.
const expectations = { poll: { timeout: 60_000 } };
const TEST_TIMEOUT_MS = 240_000;

// `unit` and `unit-mocks` need nothing but Node and a build; `e2e` needs crun and a registry too, `cluster` an API server. What a machine lacks
// is skipped with its reason: see test/harness/needs.ts and test/host-skips.
export default defineConfig({
  test: {
    sequence: { sequencer: SlowFirst },
    // Messages show whole values: a list of leaks without its items does not help.
    chaiConfig: { truncateThreshold: 0 },
    projects: [
      {
        test: {
          name: "unit",
          expect: expectations,
          maxWorkers: WORKERS,
          // A third of the processor time was the start of a worker for each file, and its loading of the same modules.
          isolate: false,
          include: ["packages/*/src/**/*.test.ts", "examples/**/*.test.ts", "test/unit/**/*.test.ts"],
          exclude: ["**/node_modules/**", ...MOCKING, ...EXCLUDED],
          env: COMPILE_CACHE,
          globalSetup: "test/harness/compile-cache.ts",
          testTimeout: TEST_TIMEOUT_MS,
          hookTimeout: TEST_TIMEOUT_MS,
        },
      },
      {
        test: {
          name: "unit-mocks",
          expect: expectations,
          maxWorkers: WORKERS,
          include: MOCKING,
          exclude: EXCLUDED,
          env: COMPILE_CACHE,
          globalSetup: "test/harness/compile-cache.ts",
          testTimeout: TEST_TIMEOUT_MS,
          hookTimeout: TEST_TIMEOUT_MS,
        },
      },
      {
        test: {
          // Checks of sources, documentation and packages: `npm run check` runs them.
          name: "check",
          isolate: false,
          include: ["test/check/**/*.test.ts"],
          testTimeout: TEST_TIMEOUT_MS,
          hookTimeout: TEST_TIMEOUT_MS,
        },
      },
      {
        test: {
          // Each file has a worker of its own. With shared workers, `npm test` took a fifth longer.
          name: "e2e",
          expect: expectations,
          globalSetup: "test/harness/host-bases-folder.ts",
          include: ["test/e2e/**/*.test.ts", "test/harness/**/*.test.ts", "test/cgroup-v2/**/*.test.ts"],
          exclude: [...CLUSTER, ...EXCLUDED],
          testTimeout: TEST_TIMEOUT_MS,
          hookTimeout: 300_000,
          maxWorkers: WORKERS,
        },
      },
      {
        test: {
          name: "cluster",
          expect: expectations,
          globalSetup: "test/harness/host-bases-folder.ts",
          include: CLUSTER,
          exclude: EXCLUDED,
          testTimeout: TEST_TIMEOUT_MS,
          hookTimeout: 1_200_000,
          maxWorkers: WORKERS,
          sequence: { groupOrder: CLUSTER_GROUP },
        },
      },
    ],
  },
});
