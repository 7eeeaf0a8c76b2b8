import { expect, test } from "vitest";
import { dataRlimit } from "../cgroup/data-rlimit.ts";
import { type LimitCgroup, NO_HITS } from "../cgroup/limit-cgroup.ts";
import { type RunnableImage, SandboxSpecs } from "./sandbox-spec.ts";

const settings = {
  owner: undefined,
  rootfs: "auto",
  readOnlyRoot: false,
  runtime: { path: "/usr/bin/crun", family: "crun" },
} as const;

function image(name: string, config: RunnableImage["config"]["config"]): RunnableImage {
  const rootfs = { type: "layers" as const, diff_ids: [] };
  return {
    name,
    digest: `sha256:${name}`,
    config: { architecture: "amd64", os: "linux", rootfs, config: { Entrypoint: ["/f"], ...config } },
    layers: [],
    overlay: true,
    fifos: false,
  };
}

test.each([
  ["environment", { Env: [`A=${"a".repeat(1024 * 1024)}`] }],
  ["arguments", { Cmd: Array.from({ length: 1024 }, () => "a".repeat(1024)) }],
  ["working directory", { WorkingDir: `/${"a".repeat(1024 * 1024)}` }],
  ["environment whose JSON is larger than its text", { Env: [`A=${"\u0001".repeat(200_000)}`] }],
])("refuses an image whose %s exceeds a mebibyte, with the way out", async (_, config) => {
  const specs = new SandboxSpecs();
  await expect(specs.of(image("a", config), {}, settings)).rejects.toMatchObject({
    code: "ImageInvalid",
    retryable: false,
    message: expect.stringMatching(
      /take \d+ bytes as JSON, and at most 1048576 are accepted; put the data into a file/,
    ),
  });
});

test("forgets specs by their size", async () => {
  const specs = new SandboxSpecs();
  const large = { Env: [`A=${"a".repeat(1_000_000)}`] };
  const first = await specs.of(image("0", large), {}, settings);
  expect(await specs.of(image("0", large), {}, settings)).toBe(first);
  for (let n = 1; n < 20; n++) await specs.of(image(String(n), large), {}, settings);
  expect(await specs.of(image("0", large), {}, settings)).not.toBe(first);
});

function dataLimit(config: string): number | undefined {
  const { process } = JSON.parse(config) as { process: { rlimits: { type: string; hard: number }[] } };
  return process.rlimits.find(({ type }) => type === "RLIMIT_DATA")?.hard;
}

test("sets RLIMIT_DATA unless a cgroup bounds the memory of the call", async () => {
  const specs = new SandboxSpecs();
  // RLIMIT_NPROC is the same without the cgroup, so only its presence makes the configurations differ.
  const cgroup: LimitCgroup = {
    procs: [],
    countsProcesses: false,
    hits: () => NO_HITS,
    memoryKills: () => 0,
    kill: () => undefined,
    remove: () => undefined,
  };
  const limited = await specs.of(image("0", {}), { memoryBytes: 64 * 1024 ** 2 }, settings);
  const unlimited = await specs.of(image("0", {}), {}, settings);
  for (let uses = 0; uses < 2; uses++) {
    expect(dataLimit(limited.config("/scratch", cgroup))).toBeUndefined();
    expect(dataLimit(limited.config("/scratch", undefined))).toBe(dataRlimit());
    expect(dataLimit(unlimited.config("/scratch", cgroup))).toBe(dataRlimit());
  }
});
