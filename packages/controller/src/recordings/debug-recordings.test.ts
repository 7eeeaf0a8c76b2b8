import { lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LiveObject } from "@xfn/kubernetes";
import { type Callers, readRecording } from "@xfn/pipeline/recording";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import type { RunRecordings } from "../objects/context.ts";
import { debugRecordings } from "./debug-recordings.ts";
import type { RecordingLimits } from "./prune.ts";

const NOTHING = (): void => undefined;
const IO = '{"apiVersion":"apiextensions.crossplane.io/v1alpha1","kind":"FunctionIO","observed":{},"desired":{}}';
const LIMITS: RecordingLimits = {
  perComposite: { count: 2, bytes: 1_000_000 },
  total: { count: 3, bytes: 1_000_000 },
};

let folder: string;
let warnings: unknown[];
beforeEach(() => {
  folder = temporaryFolder();
  warnings = [];
});

function recordings(limits = LIMITS, path = folder): RunRecordings {
  const log = { debug: NOTHING, info: NOTHING, warn: (fields: unknown) => void warnings.push(fields), error: NOTHING };
  return debugRecordings({ folder: path, log, now: () => 0, limits });
}

const callers: Callers = { runner: { run: async (_, input) => await Promise.resolve(input) } };

function xr(name: string, annotations: Record<string, string> = {}): LiveObject {
  const metadata = { name, namespace: "team", uid: `${name}-uid`, resourceVersion: "1", annotations };
  return { apiVersion: "example.org/v1", kind: "XDatabase", metadata };
}

async function run(own: RunRecordings, name: string): Promise<void> {
  await own.record({ xr: xr(name), composition: "databases" }, callers, async ({ runner }) => {
    await runner.run("fn", Buffer.from(IO), { step: "step" });
  });
}

/** The recordings of each XR. */
function kept(): Record<string, string[]> {
  return Object.fromEntries(readdirSync(folder).map((name) => [name, readdirSync(join(folder, name))]));
}

test("only XRs with the annotation want recordings", () => {
  const own = recordings();
  expect(own.wants(xr("a"))).toBe(false);
  expect(own.wants(xr("a", { "apiextensions.crossplane.io/record-runs": "true" }))).toBe(true);
});

test("the oldest recordings go first: of an XR, then of all", async () => {
  const own = recordings();
  for (const name of ["a", "a", "a", "b", "c"]) await run(own, name);
  const time = "1970-01-01t00-00-00-000z";
  expect(kept()).toEqual({
    "xdatabase-team-a-a-uid": [`${time}-3`],
    "xdatabase-team-b-b-uid": [`${time}-4`],
    "xdatabase-team-c-c-uid": [`${time}-5`],
  });
  await run(own, "c");
  expect(kept()).toEqual({
    "xdatabase-team-b-b-uid": [`${time}-4`],
    "xdatabase-team-c-c-uid": [`${time}-5`, `${time}-6`],
  });
  expect(lstatSync(join(folder, "xdatabase-team-c-c-uid")).mode & 0o777).toBe(0o700);
  expect(warnings).toEqual([]);
});

test("bytes count too, the newest recording stays, and other files of the volume stay", async () => {
  writeFileSync(join(folder, "notes"), "mine");
  mkdirSync(join(folder, "mine-too", "2026"), { recursive: true });
  const bounds = { count: 100, bytes: 1 };
  const own = recordings({ perComposite: bounds, total: bounds });
  for (const name of ["a", "a", "b"]) await run(own, name);
  rmSync(join(folder, "notes"));
  expect(kept()).toEqual({ "mine-too": ["2026"], "xdatabase-team-b-b-uid": ["1970-01-01t00-00-00-000z-3"] });
});

test("unfinished files of a crash are removed", async () => {
  const own = recordings();
  await run(own, "a");
  mkdirSync(join(folder, "xdatabase-team-a-a-uid", ".1970-01-01t00-00-00-000z-9.new-AbC123"));
  await run(own, "a");
  expect(kept()["xdatabase-team-a-a-uid"]).toHaveLength(2);
});

test("a run that fails is recorded, and a folder that cannot be written fails no run", async () => {
  const failure = new Error("the function failed");
  const fails = recordings().record({ xr: xr("a"), composition: undefined }, callers, () => Promise.reject(failure));
  await expect(fails).rejects.toBe(failure);
  const [name = ""] = kept()["xdatabase-team-a-a-uid"] ?? [];
  expect(readRecording(join(folder, "xdatabase-team-a-a-uid", name))).toMatchObject({ status: "Failed" });
  writeFileSync(join(folder, "file"), "");
  await run(recordings(LIMITS, join(folder, "file")), "a");
  expect(warnings).toMatchObject([{ composite: "a" }]);
});
