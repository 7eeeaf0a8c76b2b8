import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { world, xr } from "../harness/composite-memory.ts";

// A run of a revision that has given up its runtimes.

const unused = (): never => {
  throw new TypeError("the function is not called");
};
const FUNCTIONS = { names: [], byName: unused, byPackage: unused, byEndpoint: unused, closeUnused: unused };
const UNUSED_SINCE = "2026-01-01T00:00:00Z";
const REVISION: LiveObject = {
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "CompositionRevision",
  metadata: { name: "c-1", uid: "r-1", resourceVersion: "1" },
  status: { unusedSince: UNUSED_SINCE },
};

/** The writes of a reconcile that fails because no runtime exists. */
async function writesWith(status: JsonObject, ...stored: readonly LiveObject[]): Promise<readonly string[]> {
  const w = world([xr(), ...stored], { functions: FUNCTIONS, functionRuntimes: true, runner: { run: unused } });
  const functionRef = { package: "registry.example.org/fns/greeting:v1" };
  w.composeSpec({ mode: "Pipeline", pipeline: [{ step: "greet", functionRef }] }, status);
  await expect(w.reconcile()).rejects.toThrow(/is not ready/);
  return w.titles();
}

test("a run that misses its runtimes marks an unused revision as used", async () => {
  const writes = await writesWith({ unusedSince: UNUSED_SINCE }, REVISION);
  expect(writes).toEqual(["patch CompositionRevision/c-1 status", "apply XDatabase/xr", "apply XDatabase/xr status"]);
});

test("a refused mark does not change how the run fails", async () => {
  expect(await writesWith({ unusedSince: UNUSED_SINCE })).toEqual(["apply XDatabase/xr", "apply XDatabase/xr status"]);
});

test("a run that misses its runtimes does not change a revision in use", async () => {
  expect(await writesWith({}, REVISION)).toEqual(["apply XDatabase/xr", "apply XDatabase/xr status"]);
});
