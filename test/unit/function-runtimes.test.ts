import { createHash } from "node:crypto";
import { isObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { condition } from "../harness/conditions.ts";
import { digestOf, META, packageWorld, revisionName, SOURCE } from "../harness/package-world.ts";

// FunctionRuntimes with a registry and an API server in memory.

const runtimeName = (letter: string, repository = "fns-greeting"): string =>
  `${repository}-${createHash("sha256")
    .update(`registry.example.org/${digestOf(letter)}`)
    .digest("hex")
    .slice(0, 12)}`;

/** A CompositionRevision with one step for each package. */
const compositionRevision = (name: string, ...packages: string[]): LiveObject => ({
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "CompositionRevision",
  metadata: { name, uid: `uid-${name}`, resourceVersion: "1" },
  spec: {
    revision: 1,
    mode: "Pipeline",
    pipeline: packages.map((reference, index) => ({ step: `step-${index}`, functionRef: { package: reference } })),
  },
});

function world(...revisions: LiveObject[]) {
  const state = packageWorld({}, { functionRuntimes: true });
  for (const one of revisions) void state.client.create(one);
  const find = (kind: string, name: string): LiveObject | undefined =>
    [...state.client.objects.values()].find((one) => one.kind === kind && one.metadata.name === name);
  return {
    ...state,
    find,
    runtime: (letter: string) => find("FunctionRuntime", runtimeName(letter)),
    owners: (letter: string): string[] => {
      const references = find("FunctionRuntime", runtimeName(letter))?.metadata["ownerReferences"];
      return (Array.isArray(references) ? references : [])
        .filter(isObject)
        .map(({ name, controller }) => `${String(name)}${controller === true ? " (controller)" : ""}`);
    },
  };
}

test("a revision that is deleted during its installation gets no runtime", async () => {
  const { settle, client } = world();
  client.beforeWrite = ({ object }) => {
    if (object.startsWith("Lock/"))
      for (const [key, { kind }] of client.objects) if (kind !== "Lock") client.objects.delete(key);
  };
  await settle();
  const kinds = client.writes.map(({ object }) => object.split("/")[0]);
  expect(new Set(kinds)).toEqual(new Set(["FunctionRevision", "Function", "Lock"]));
});

test("revisions of Functions and of Compositions share the runtime of a version, which none of them controls", async () => {
  const { settle, owners, runtime, revision, fn, find } = world(
    compositionRevision("one", SOURCE),
    compositionRevision("two", `registry.example.org/fns/greeting@${digestOf("a")}`, SOURCE),
  );
  expect(await settle()).toEqual([]);
  expect(owners("a").toSorted()).toEqual([revisionName("a"), "one", "two"]);
  expect(runtime("a")).toMatchObject({
    metadata: { labels: { "pkg.crossplane.io/source": "a".repeat(63) } },
    spec: { package: `registry.example.org/fns/greeting@${digestOf("a")}` },
    status: { endpoint: "unix:/run/xfn/runner.sock" },
  });
  expect(revision("a")?.["status"]).toMatchObject({ endpoint: "unix:/run/xfn/runner.sock" });
  expect(condition(fn(), "Healthy")).toMatchObject({ status: "True" });
  expect(condition(find("CompositionRevision", "two"), "RuntimesHealthy")).toMatchObject({ status: "True" });
});

test("a digest is recorded once, also if the tag moves", async () => {
  const { settle, find, registry, runtime } = world(compositionRevision("one", SOURCE));
  await settle();
  registry.tags[SOURCE] = digestOf("b");
  expect(await settle()).toEqual([]);
  expect(find("CompositionRevision", "one")?.["status"]).toMatchObject({
    functions: [{ package: SOURCE, resolvedPackage: `${SOURCE}@${digestOf("a")}`, runtime: runtimeName("a") }],
  });
  expect(runtime("b")).toBeUndefined();
});

test("a revision gets back a runtime that is missing, while its others are healthy", async () => {
  const other = "registry.example.org/fns/other:v1";
  const { settle, find, registry, client } = world(compositionRevision("one", SOURCE, other));
  registry.tags[other] = digestOf("c");
  await settle();
  expect(condition(find("CompositionRevision", "one"), "RuntimesHealthy")).toMatchObject({ status: "True" });
  const missing = runtimeName("c", "fns-other");
  await client.delete({ apiVersion: "pkg.crossplane.io/v1alpha1", kind: "FunctionRuntime", name: missing });
  expect(find("FunctionRuntime", missing)).toBeUndefined();
  expect(await settle()).toEqual([]);
  expect(find("FunctionRuntime", missing)).toBeDefined();
  expect(condition(find("CompositionRevision", "one"), "RuntimesHealthy")).toMatchObject({ status: "True" });
});

test("a digest is recorded before its runtime exists", async () => {
  const other = "registry.example.org/fns/other:v1";
  const { settle, client, registry } = world(compositionRevision("one", other));
  registry.tags[other] = digestOf("c");
  await settle();
  const titles = client.writes.map(({ verb, object }) => `${verb} ${object}`);
  const recorded = titles.indexOf("patch CompositionRevision/one");
  expect(client.writes[recorded]?.body).toMatchObject({ status: { functions: [{ package: other }] } });
  const created = titles.indexOf(`create FunctionRuntime/${runtimeName("c", "fns-other")}`);
  expect(created).toBeGreaterThan(recorded);
});

test("the runtime of an inactive revision goes, unless another object owns it", async () => {
  const { settle, registry, change, runtime, owners } = world(compositionRevision("one", SOURCE));
  await settle();
  const next = "registry.example.org/fns/greeting:v2";
  registry.tags[next] = digestOf("b");
  change({ package: next });
  expect(await settle()).toEqual([]);
  expect(owners("a")).toEqual(["one"]);
  expect(owners("b")).toEqual([revisionName("b", 2)]);
  change({ package: SOURCE });
  expect(await settle()).toEqual([]);
  expect(runtime("b")).toBeUndefined();
});

test.each([
  ["that is not a Function", META("Provider"), "is a Provider and not a Function"],
  ["without package.yaml", "", "has no package.yaml"],
])("a package %s makes its runtime and its revision unhealthy, and is read once", async (_, content, message) => {
  const other = "registry.example.org/fns/other:v1";
  const { settle, registry, find, asked } = world(compositionRevision("one", other));
  registry.tags[other] = digestOf("c");
  registry.contents[digestOf("c")] = content;
  await settle();
  const reported = condition(find("CompositionRevision", "one"), "RuntimesHealthy");
  expect(reported).toMatchObject({ status: "False", reason: "UnhealthyRuntimes" });
  expect(reported["message"]).toContain(message);
  const before = asked.length;
  await settle();
  expect(asked.length).toBe(before);
});

test.each([
  ["without tag and digest", "registry.example.org:5000/fns/greeting", "it has neither a tag nor a digest"],
  ["that the registry does not have", "registry.example.org/fns/none:v1", "check the tag or digest"],
])("a package %s is reported, and the others of the revision get their runtimes", async (_, wrong, message) => {
  const { settle, find, owners } = world(compositionRevision("one", wrong, SOURCE));
  expect((await settle()).join()).toContain(message);
  expect(condition(find("CompositionRevision", "one"), "RuntimesHealthy")["message"]).toContain(message);
  expect(owners("a")).toContain("one");
});

test("a runtime that a user created under the name is used, and gets no owner", async () => {
  const { settle, client, owners, runtime, fn } = world(compositionRevision("one", SOURCE));
  await client.create({
    apiVersion: "pkg.crossplane.io/v1alpha1",
    kind: "FunctionRuntime",
    metadata: { name: runtimeName("a") },
    spec: { package: SOURCE },
  });
  expect(await settle()).toEqual([]);
  expect(owners("a")).toEqual([]);
  expect(runtime("a")?.["status"]).toMatchObject({ resolvedPackage: `${SOURCE}@${digestOf("a")}` });
  expect(condition(fn(), "Healthy")).toMatchObject({ status: "True" });
});

test("a runtime of another package under the name is left alone and reported", async () => {
  const { settle, client, find, runtime } = world(compositionRevision("one", SOURCE));
  const spec = { package: `registry.example.org/fns/other@${digestOf("c")}` };
  await client.create({
    apiVersion: "pkg.crossplane.io/v1alpha1",
    kind: "FunctionRuntime",
    metadata: { name: runtimeName("a") },
    spec,
  });
  expect((await settle()).join()).toContain("exists for another package; delete that object");
  expect(condition(find("CompositionRevision", "one"), "RuntimesHealthy")).toMatchObject({ status: "False" });
  expect(runtime("a")).toMatchObject({ spec });
});

test("a runtime gets the pull secrets that its owners name later", async () => {
  const { settle, change, runtime } = world(compositionRevision("one", SOURCE));
  await settle();
  for (const [named, known] of [
    [["a"], ["a"]],
    [["b"], ["a", "b"]],
  ] as const) {
    change({ packagePullSecrets: named.map((name) => ({ name })) });
    expect(await settle()).toEqual([]);
    expect(runtime("a")?.["spec"]).toMatchObject({ pullSecrets: known.map((name) => ({ name })) });
  }
});
