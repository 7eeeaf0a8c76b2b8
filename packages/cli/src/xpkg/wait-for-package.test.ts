import type { JsonObject } from "@xfn/json";
import { ApiError, type Client, type LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { packageObject } from "./package-object.ts";
import { waitForPackage } from "./wait-for-package.ts";

const OBJECT = packageObject("provider", "r.example/acme/p:v2", undefined);

const withoutGeneration = (type: string): JsonObject => ({ type, status: "True", reason: "Fine" });
const condition = (type: string, more: JsonObject = {}): JsonObject => ({
  ...withoutGeneration(type),
  observedGeneration: 2,
  ...more,
});
const READY = [condition("Installed"), condition("Healthy")];

function live(status: JsonObject): LiveObject {
  return {
    apiVersion: "pkg.crossplane.io/v1",
    kind: "Provider",
    metadata: { name: "acme-p", uid: "u", resourceVersion: "1", generation: 2 },
    spec: { package: "r.example/acme/p:v2" },
    status,
  };
}

/** @returns the number of reads, the last of which found the package ready */
async function wait(
  states: readonly (JsonObject | ApiError)[],
  timeoutMs = 60_000,
  onProblem?: (condition: string) => void,
): Promise<number> {
  let reads = 0;
  const client: Pick<Client, "get"> = {
    async get(reference) {
      expect(reference).toEqual({ apiVersion: "pkg.crossplane.io/v1", kind: "Provider", name: "acme-p" });
      const state = states[Math.min(reads, states.length - 1)] ?? {};
      reads += 1;
      if (state instanceof Error) throw state;
      return live(state);
    },
  };
  await waitForPackage(client as Client, OBJECT, {
    timeoutMs,
    signal: new AbortController().signal,
    onCheck: () => undefined,
    ...(onProblem && { onProblem }),
  });
  return reads;
}

test.each<[string, JsonObject]>([
  ["both conditions", { conditions: READY }],
  [
    "conditions without a generation, of older Crossplanes",
    { conditions: [withoutGeneration("Installed"), withoutGeneration("Healthy")] },
  ],
  ["the reference of the object", { conditions: READY, currentIdentifier: "r.example/acme/p:v2" }],
  [
    "a rewritten reference",
    { conditions: READY, currentIdentifier: "m.example/p:v2", resolvedPackage: "m.example/p:v2" },
  ],
])("is over with %s", async (_, status) => {
  expect(await wait([status])).toBe(1);
});

test.each<[string, JsonObject]>([
  ["no conditions", {}],
  ["one condition", { conditions: [condition("Installed")] }],
  [
    "a condition that is not true",
    { conditions: [condition("Installed"), condition("Healthy", { status: "Unknown" })] },
  ],
  [
    "a condition of an earlier spec",
    { conditions: [condition("Installed"), condition("Healthy", { observedGeneration: 1 })] },
  ],
  ["the revision of an earlier package", { conditions: READY, currentIdentifier: "r.example/acme/p:v1" }],
])("goes on with %s", async (_, status) => {
  expect(await wait([status, { conditions: READY }])).toBe(2);
});

test("ends after its time with the conditions", async () => {
  const conditions = [condition("Installed"), condition("Healthy", { status: "False", reason: "Bad", message: "why" })];
  await expect(wait([{ conditions }], 0)).rejects.toMatchObject({
    name: "CliError",
    code: "Failed",
    message: expect.stringContaining("provider/acme-p") as string,
    details: ["Installed=True (Fine)", "Healthy=False (Bad: why)", expect.stringContaining("kubectl describe")],
  });
  await expect(wait([{}], 0)).rejects.toMatchObject({
    details: [expect.stringContaining("no controller"), expect.anything()],
  });
});

test("ends at once if the object is deleted", async () => {
  await expect(wait([{}, new ApiError("NotFound", "gone")])).rejects.toMatchObject({
    message: "provider/acme-p was deleted meanwhile",
  });
});

test.each([
  ["Function", "r.example/acme/f:v1", undefined, "acme-f"],
  ["configuration", `r.example:5000/a/b/c@sha256:${"a".repeat(64)}`, undefined, "a-b-c"],
  ["provider", `r.example/p:v1@sha256:${"a".repeat(64)}`, "mine", "mine"],
])("%s %s %s is named %s", (kind, reference, name, expected) => {
  expect(packageObject(kind, reference, name)).toMatchObject({ name: expected, package: reference });
});

test.each(["r.example/acme/latest", "r.example/acme/f"])("%s names no version", (reference) => {
  expect(() => packageObject("function", reference, undefined)).toThrow(/PACKAGE must be/);
});

test("reports each reason why the package is not healthy, once", async () => {
  const unhealthy = (reason: string): JsonObject => ({
    conditions: [condition("Installed"), condition("Healthy", { status: "False", reason, message: "no pull secret" })],
  });
  const reported: string[] = [];
  const states = [unhealthy("Unpacking"), unhealthy("Unpacking"), unhealthy("UnpackFailed"), { conditions: READY }];
  await wait(states, 60_000, (text) => reported.push(text));
  expect(reported).toEqual([
    "Healthy=False (Unpacking: no pull secret)",
    "Healthy=False (UnpackFailed: no pull secret)",
  ]);
});
