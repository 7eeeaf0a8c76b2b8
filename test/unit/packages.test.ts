import { generateKeyPairSync } from "node:crypto";
import type { ReconcilerOptions } from "@xfn/controller";
import { type JsonObject, objectAt } from "@xfn/json";
import { ApiError } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { condition } from "../harness/conditions.ts";
import { digestOf, META, packageWorld, revisionName, SOURCE } from "../harness/package-world.ts";

// Functions and their revisions, with a registry and an API server in memory: what a real registry is slow to show.

test("a Function gets a revision with its digest, which is healthy, and then sends no requests", async () => {
  const { settle, fn, revision, asked, client } = packageWorld({ packagePullSecrets: [{ name: "a" }] });
  expect(await settle()).toEqual([]);
  expect(fn()["status"]).toMatchObject({
    currentRevision: revisionName("a"),
    currentIdentifier: SOURCE,
    resolvedPackage: SOURCE,
  });
  expect(condition(fn(), "Installed")).toMatchObject({ status: "True", reason: "ActivePackageRevision" });
  expect(condition(fn(), "Healthy")).toMatchObject({ status: "True", reason: "HealthyPackageRevision" });
  expect(revision("a")).toMatchObject({
    metadata: {
      labels: { "pkg.crossplane.io/package": "greeting" },
      ownerReferences: [{ kind: "Function", name: "greeting", uid: "fn-uid", controller: true }],
    },
    spec: {
      desiredState: "Active",
      image: `${SOURCE}@${digestOf("a")}`,
      revision: 1,
      packagePullSecrets: [{ name: "a" }],
    },
    status: {
      endpoint: "unix:/run/xfn/runner.sock",
      resolvedImage: `${SOURCE}@${digestOf("a")}`,
      capabilities: ["composition"],
    },
  });
  expect(asked).toEqual([`resolve ${SOURCE}`, "read"]);
  const reads: string[] = [];
  client.get = (reference) => Promise.reject(new Error(`reads ${(reads.push(reference.name), reference.name)}`));
  expect(await settle()).toEqual([]);
  expect(reads).toEqual([]);
});

test("a changed spec makes a revision, and the one before becomes inactive, as in Crossplane", async () => {
  const { settle, fn, revision, change, asked, client } = packageWorld();
  await settle();
  const requests = asked.filter((one) => one.startsWith("resolve")).length;
  change({ runtimeConfigRef: { name: "large" } });
  expect(await settle()).toEqual([]);
  expect(fn()["status"]).toMatchObject({ currentRevision: revisionName("a", 2) });
  expect(revision("a")).toMatchObject({
    metadata: { name: revisionName("a", 2) },
    spec: { desiredState: "Active", revision: 2, runtimeConfigRef: { name: "large" } },
  });
  const before = [...client.objects.values()].find(({ metadata }) => metadata.name === revisionName("a", 1));
  expect(before).toMatchObject({ spec: { desiredState: "Inactive" } });
  expect(asked.filter((one) => one.startsWith("resolve"))).toHaveLength(requests);
});

test("a revision that an older version named after the digest alone stays until the package changes", async () => {
  const { settle, fn, revision, client, change } = packageWorld();
  const name = `greeting-${"a".repeat(12)}`;
  await client.create({
    apiVersion: "pkg.crossplane.io/v1",
    kind: "FunctionRevision",
    metadata: {
      name,
      labels: { "pkg.crossplane.io/package": "greeting" },
      ownerReferences: [
        { apiVersion: "pkg.crossplane.io/v1", kind: "Function", name: "greeting", uid: "fn-uid", controller: true },
      ],
    },
    spec: {
      image: `${SOURCE}@${digestOf("a")}`,
      desiredState: "Active",
      revision: 1,
      packagePullPolicy: "IfNotPresent",
    },
  });
  const status = { currentIdentifier: SOURCE, resolvedPackage: `${SOURCE}@${digestOf("a")}`, currentRevision: name };
  fn()["status"] = status;
  expect(await settle()).toEqual([]);
  expect(fn()["status"]).toMatchObject({ ...status, resolvedPackage: SOURCE });
  expect([...client.objects.values()].filter(({ kind }) => kind === "FunctionRevision")).toHaveLength(1);
  change({ commonLabels: { a: "b" } });
  expect(await settle()).toEqual([]);
  expect(revision("a")).toMatchObject({ metadata: { name: revisionName("a", 2) }, spec: { revision: 2 } });
});

test("an upgrade deactivates the older revision once the newer one is healthy, and a rollback returns to it", async () => {
  const state = packageWorld();
  const { settle, fn, revision, registry, change } = state;
  await settle();
  const next = "registry.example.org/fns/greeting:v2";
  registry.tags[next] = digestOf("b");
  change({ package: next });
  state.runnerDown = true;
  expect(await settle()).toEqual([expect.stringContaining("start xfn-runner")]);
  expect(revision("a")).toMatchObject({ spec: { desiredState: "Active" } });
  expect(condition(fn(), "Healthy")["message"]).toContain(`the revision ${revisionName("a")} still serves`);
  state.runnerDown = false;
  expect(await settle()).toEqual([]);
  expect(revision("a")).toMatchObject({ spec: { desiredState: "Inactive" } });
  expect(revision("a")?.["status"]).not.toMatchObject({ endpoint: expect.anything() });
  expect(revision("b")).toMatchObject({ spec: { desiredState: "Active", revision: 2 } });
  change({ package: SOURCE });
  expect(await settle()).toEqual([]);
  expect(revision("a")).toMatchObject({ spec: { desiredState: "Active", revision: 3 } });
  expect(revision("b")).toMatchObject({ spec: { desiredState: "Inactive", revision: 2 } });
  expect(condition(fn(), "Healthy")).toMatchObject({ status: "True" });
});

test.each<[what: string, content: string, message: string]>([
  ["without package.yaml", "", "has no package.yaml; build it again"],
  ["without metadata", "kind: ConfigMap\n", "a package has exactly one crossplane.yaml"],
  ["with two", `${META()}---\n${META()}`, "this has 2"],
  ["of a Provider", META("Provider"), "is a Provider and not a Function; install it as a Provider"],
  ["with a syntax error", `${META()}  x: [`, "package.yaml"],
])("a package %s is refused once, with the way out, and the older revision stays", async (_, content, message) => {
  const { settle, fn, revision, registry, change, asked } = packageWorld();
  await settle();
  const next = "registry.example.org/fns/greeting:v2";
  registry.tags[next] = digestOf("b");
  registry.contents[digestOf("b")] = content;
  change({ package: next });
  await settle();
  expect(condition(revision("b"), "RevisionHealthy")).toMatchObject({ status: "False" });
  const healthy = condition(fn(), "Healthy");
  expect(healthy).toMatchObject({ status: "False", reason: "UnhealthyPackageRevision" });
  expect(healthy["message"]).toContain(message);
  expect(healthy["message"]).toContain(`${revisionName("a")} still serves`);
  expect(revision("a")).toMatchObject({ spec: { desiredState: "Active" } });
  const before = asked.length;
  await settle();
  expect(asked.length).toBe(before);
});

test("a registry that is down tears nothing down, and is reported", async () => {
  const { settle, fn, revision, registry, change, events } = packageWorld();
  await settle();
  registry.down = true;
  change({ package: "registry.example.org/fns/greeting:v2" });
  const [failure] = await settle();
  expect(failure).toContain("cannot resolve spec.package registry.example.org/fns/greeting:v2: connection refused");
  expect(condition(fn(), "Installed")).toMatchObject({ status: "False", reason: "UnpackingPackage" });
  expect(condition(fn(), "Installed")["message"]).toContain(`the revision ${revisionName("a")} stays active`);
  expect(condition(fn(), "Healthy")).toMatchObject({ status: "True" });
  expect(revision("a")).toMatchObject({ spec: { desiredState: "Active" } });
  expect(events.filter((event) => event.includes("connection refused"))).toHaveLength(1);
  change({ package: SOURCE });
  expect(await settle()).toEqual([]);
  expect(condition(fn(), "Installed")).toMatchObject({ status: "True" });
});

test("a registry that is down for an hour delays an upgrade until it is back", async () => {
  const world = packageWorld();
  const { settle, fn, revision, registry, change } = world;
  await settle();
  const next = "registry.example.org/fns/greeting:v2";
  registry.tags[next] = digestOf("b");
  registry.down = true;
  change({ package: next });
  for (let minute = 0; minute < 60; minute++) {
    expect(await settle()).toEqual([expect.stringContaining("connection refused")]);
    expect(condition(fn(), "Healthy")).toMatchObject({ status: "True" });
    world.time += 60_000;
  }
  registry.down = false;
  expect(await settle()).toEqual([]);
  expect(revision("b")).toMatchObject({ spec: { desiredState: "Active", revision: 2 } });
  expect(revision("a")).toMatchObject({ spec: { desiredState: "Inactive" } });
  expect(condition(fn(), "Installed")).toMatchObject({ status: "True" });
});

test("with Always, a tag that moved makes a revision, and a registry that is down does not", async () => {
  const world = packageWorld({ packagePullPolicy: "Always" });
  const { settle, fn, revision, registry, asked } = world;
  await settle();
  registry.down = true;
  const before = asked.length;
  expect(await settle()).toEqual([]);
  expect(asked).toHaveLength(before);
  world.time += 60_000;
  expect(await settle()).toEqual([]);
  expect(condition(fn(), "Installed")).toMatchObject({ status: "True" });
  expect(condition(fn(), "Installed")["message"]).toContain("cannot check for a newer package");
  registry.down = false;
  registry.tags[SOURCE] = digestOf("b");
  world.time += 60_000;
  expect(await settle()).toEqual([]);
  expect(revision("b")).toMatchObject({ spec: { desiredState: "Active", revision: 2 } });
  expect(condition(fn(), "Installed")["message"]).toBeUndefined();
});

test("with IfNotPresent, a tag that moved changes nothing", async () => {
  const { settle, revision, registry, asked } = packageWorld();
  await settle();
  registry.tags[SOURCE] = digestOf("b");
  expect(await settle()).toEqual([]);
  expect(revision("b")).toBeUndefined();
  expect(asked.filter((one) => one.startsWith("resolve"))).toHaveLength(1);
});

test("with Manual, a revision is installed once a user activates it", async () => {
  const { settle, fn, revision } = packageWorld({ revisionActivationPolicy: "Manual" });
  await settle();
  expect(revision("a")).toMatchObject({ spec: { desiredState: "Inactive" } });
  expect(condition(fn(), "Installed")).toMatchObject({ status: "False", reason: "InactivePackageRevision" });
  const spec = revision("a")?.["spec"] as JsonObject;
  spec["desiredState"] = "Active";
  expect(await settle()).toEqual([]);
  expect(condition(fn(), "Installed")).toMatchObject({ status: "True" });
  expect(condition(fn(), "Healthy")).toMatchObject({ status: "True" });
});

test("the oldest inactive revisions beyond the history limit are deleted, and none with a limit of 0", async () => {
  const versions = ["b", "c", "d"];
  for (const [limit, left] of [
    [1, ["c", "d"]],
    [0, ["a", "b", "c", "d"]],
  ] as const) {
    const { settle, revision, registry, change } = packageWorld({ revisionHistoryLimit: limit });
    await settle();
    for (const letter of versions) {
      const next = `registry.example.org/fns/greeting:${letter}`;
      registry.tags[next] = digestOf(letter);
      change({ package: next });
      await settle();
    }
    expect(["a", "b", "c", "d"].filter((letter) => revision(letter) !== undefined)).toEqual(left);
  }
});

test("an object of another owner with the revision's name is left alone and reported", async () => {
  const { settle, fn, client } = packageWorld();
  await client.create({
    apiVersion: "pkg.crossplane.io/v1",
    kind: "FunctionRevision",
    metadata: { name: revisionName("a") },
    spec: { image: "x", desiredState: "Inactive", revision: 1 },
  });
  expect((await settle())[0]).toContain("exists and does not belong to it; delete that object");
  expect(condition(fn(), "Installed")).toMatchObject({ status: "False" });
  expect(client.objects.size).toBe(2);
});

test("a missing pull secret is named with the registry's refusal", async () => {
  const { settle, registry } = packageWorld({ packagePullSecrets: [{ name: "regcred" }] });
  registry.tags = {};
  const [failure] = await settle();
  expect(failure).toContain("there is no Secret xfn-system/regcred");
  expect(failure).toContain("check the tag or digest");
});

const { publicKey } = generateKeyPairSync("ed25519");
const SECRET = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "cosign", namespace: "xfn-system" },
  data: { "cosign.pub": Buffer.from(publicKey.export({ type: "spki", format: "pem" })).toString("base64") },
};
const BY_KEY = { name: "acme", key: { hashAlgorithm: "sha256", secretRef: { name: "cosign", key: "cosign.pub" } } };
const signedBy = (...authorities: JsonObject[]): JsonObject => ({
  apiVersion: "pkg.crossplane.io/v1beta1",
  kind: "ImageConfig",
  metadata: { name: "signed" },
  spec: {
    matchImages: [{ prefix: "registry.example.org/fns" }],
    verification: { provider: "Cosign", cosign: { authorities } },
  },
});

test("a package that an ImageConfig wants signed is read once it is, and one that is installed stays", async () => {
  const { settle, client, fn, revision, registry, asked, change } = packageWorld();
  await client.create(signedBy({ name: "ci", keyless: { identities: [] } }, BY_KEY));
  await client.create(SECRET);
  expect((await settle())[0]).toContain(`the ImageConfig signed requires a signature of ${SOURCE}@${digestOf("a")}`);
  expect(revision("a")).toBeUndefined();
  expect(fn()["status"]).not.toHaveProperty("currentRevision");
  const installed = condition(fn(), "Installed");
  expect(installed).toMatchObject({ status: "False", reason: "UnpackingPackage" });
  expect(installed["message"]).toContain("is unsigned; authority ci: keyless signatures need a trusted root");
  expect(condition(fn(), "Healthy")).toMatchObject({ status: "False", reason: "UnhealthyPackageRevision" });
  expect(asked).not.toContain("read");
  registry.signed.add(digestOf("a"));
  expect(await settle()).toEqual([]);
  expect(condition(revision("a"), "Verified")).toMatchObject({
    status: "True",
    reason: "SignatureVerificationSucceeded",
  });
  expect(revision("a")?.["status"]).toMatchObject({
    appliedImageConfigRefs: [{ name: "signed", reason: "VerifyImage" }],
  });
  expect(fn()["status"]).toMatchObject({ appliedImageConfigRefs: [{ name: "signed", reason: "VerifyImage" }] });
  expect(condition(fn(), "Healthy")).toMatchObject({ status: "True" });
  // The signature may be replaced: the digest was verified.
  registry.signed.clear();
  expect(await settle()).toEqual([]);
  const next = "registry.example.org/fns/greeting:v2";
  registry.tags[next] = digestOf("b");
  change({ package: next });
  expect((await settle())[0]).toContain("is unsigned");
  expect(revision("b")).toBeUndefined();
  expect(revision("a")).toMatchObject({ spec: { desiredState: "Active" } });
  expect(condition(fn(), "Installed")).toMatchObject({ status: "False", reason: "UnpackingPackage" });
  expect(condition(fn(), "Installed")["message"]).toContain(`${revisionName("a")} stays active`);
  expect(condition(fn(), "Healthy")).toMatchObject({ status: "True" });
});

test("a package is installed once no ImageConfig wants a signature any more", async () => {
  const { settle, client, revision } = packageWorld();
  await client.create(signedBy(BY_KEY));
  expect((await settle())[0]).toContain("there is no key cosign.pub of the Secret xfn-system/cosign");
  for (const [key, one] of client.objects) if (one.kind === "ImageConfig") client.objects.delete(key);
  expect(await settle()).toEqual([]);
  expect(condition(revision("a"), "RevisionHealthy")).toMatchObject({ status: "True" });
  // Older versions created the revision before they verified its package.
  const conditions = [{ type: "Verified", status: "False", reason: "SignatureVerificationFailed" }];
  Object.assign(revision("a") ?? {}, { status: { conditions } });
  expect(await settle()).toEqual([]);
  expect(condition(revision("a"), "Verified")).toMatchObject({
    status: "True",
    reason: "SignatureVerificationSkipped",
  });
});

test.each<[what: string, authority: JsonObject, problem: string]>([
  [
    "is keyless without a trusted root",
    { name: "ci", keyless: { identities: [] } },
    "start xfn-controller with --trusted-root",
  ],
  [
    "has an unknown hash",
    { ...BY_KEY, key: { ...BY_KEY.key, hashAlgorithm: "md5" } },
    'hashAlgorithm "md5" is unknown',
  ],
  ["has no key", { name: "acme" }, "no key.secretRef"],
])("an authority that %s verifies nothing, and its problem is named", async (_, authority, problem) => {
  const { settle, client, asked, registry } = packageWorld();
  registry.signed.add(digestOf("a"));
  await client.create(signedBy(authority));
  await client.create(SECRET);
  const [failure] = await settle();
  expect(failure).toContain("it has no authority that can be used");
  expect(failure).toContain(problem);
  expect(asked).not.toContain("verify");
  expect(asked).not.toContain("read");
});

test.each<[what: string, root: string, identity: JsonObject, problem: string]>([
  [
    "an invalid trusted root",
    "{}",
    { issuer: "i", subject: "s" },
    "cannot use the file of --trusted-root: it is not a trusted_root",
  ],
  ["an identity without a subject", "{}", { issuer: "i" }, "authority ci: keyless.identities[0] has neither subject"],
  ["an invalid expression", "{}", { issuer: "i", subjectRegExp: "(" }, "keyless.identities[0].subjectRegExp: "],
])("a keyless authority with %s verifies nothing", async (_, root, identity, problem) => {
  const { settle, client, registry, asked } = packageWorld();
  registry.root = Buffer.from(root);
  await client.create(signedBy({ name: "ci", keyless: { identities: [identity] } }));
  expect((await settle())[0]).toContain(problem);
  expect(asked).not.toContain("verify");
});

test("a Function that is deleted while the registry answers gets no revision", async () => {
  const { settle, client, registry } = packageWorld();
  const deleted = [...client.objects.keys()];
  Object.defineProperty(registry.tags, SOURCE, {
    get: () => {
      for (const key of deleted) client.objects.delete(key);
      return digestOf("a");
    },
  });
  await settle();
  expect(client.writes).toEqual([]);
});

test("a FunctionRuntime that a user created is verified too", async () => {
  const { settle, client } = packageWorld({}, { functionRuntimes: true });
  await client.create(signedBy(BY_KEY));
  await client.create(SECRET);
  await client.create({
    apiVersion: "pkg.crossplane.io/v1alpha1",
    kind: "FunctionRuntime",
    metadata: { name: "mine" },
    spec: { package: SOURCE },
  });
  await settle();
  const mine = [...client.objects.values()].find(({ metadata }) => metadata.name === "mine");
  expect(condition(mine, "Healthy")).toMatchObject({ status: "False" });
  expect(condition(mine, "Healthy")["message"]).toContain("is unsigned");
});

test("an ImageConfig selects the DeploymentRuntimeConfig of a runtime, in place of that of the Function", async () => {
  const world = { runtimeConfigRef: { name: "large" } };
  const { settle, client, revision } = packageWorld(world, { functionRuntimes: true });
  const configRef = { apiVersion: "pkg.crossplane.io/v1beta1", kind: "DeploymentRuntimeConfig", name: "small" };
  await client.create({
    apiVersion: "pkg.crossplane.io/v1beta1",
    kind: "ImageConfig",
    metadata: { name: "small-pods" },
    spec: { matchImages: [{ prefix: "registry.example.org/fns" }], runtime: { configRef } },
  });
  await settle();
  const runtime = [...client.objects.values()].find(({ kind }) => kind === "FunctionRuntime");
  expect(runtime).toMatchObject({ spec: { runtimeConfigRef: configRef } });
  expect(revision("a")?.["status"]).toMatchObject({
    appliedImageConfigRefs: [{ name: "small-pods", reason: "ConfigureRuntime" }],
  });
});

test("no package is read before ImageConfigs are listed", async () => {
  const failing = {
    acquire: () => ({ informer: { whenSynced: () => Promise.reject(new Error("forbidden")) }, release: () => {} }),
  };
  const informers = {
    ...failing,
    peek: () => undefined,
    stop: async () => {},
  } as unknown as ReconcilerOptions["informers"];
  const { settle, asked } = packageWorld({}, { functionPackages: true, informers });
  expect((await settle())[0]).toContain("cannot list ImageConfigs, which may require a signature");
  expect(asked).toEqual([]);
});

test("with Never, a package without a digest is refused, and one with a digest needs no tag", async () => {
  const { settle, change, fn, asked } = packageWorld({ packagePullPolicy: "Never" });
  expect((await settle())[0]).toContain("spec.package must have a digest");
  change({ package: `${SOURCE}@${digestOf("a")}` });
  expect(await settle()).toEqual([]);
  expect(condition(fn(), "Healthy")).toMatchObject({ status: "True" });
  expect(asked).toEqual(["read"]);
});

test.each<[runtime: string, more: { functionRuntimes?: boolean }]>([
  ["the runner's own runtime", {}],
  ["a FunctionRuntime", { functionRuntimes: true }],
])("a refused package for another Crossplane is installed once the Function ignores that, with %s", async (_, more) => {
  const { settle, fn, revision, registry, change } = packageWorld({}, more);
  registry.contents[digestOf("a")] = META("Function", ', crossplane: { version: ">=v99.0.0" }');
  await settle();
  expect(condition(revision("a"), "RevisionHealthy")["message"]).toContain("or set spec.ignoreCrossplaneConstraints");
  change({ ignoreCrossplaneConstraints: true });
  expect(await settle()).toEqual([]);
  expect(condition(fn(), "Healthy")).toMatchObject({ status: "True" });
});

test.each<[kind: string, type: string, spec: JsonObject]>([
  ["FunctionRevision", "RevisionHealthy", { revisionActivationPolicy: "Manual" }],
  ["FunctionRuntime", "Healthy", {}],
])("the status of a %s gets a refusal whose first write fails", async (kind, type, spec) => {
  const { settle, client, registry } = packageWorld(spec, { functionRuntimes: kind === "FunctionRuntime" });
  registry.contents[digestOf("a")] = META("Provider");
  let writes = 0;
  client.beforeWrite = ({ object, subresource }) => {
    if (!object.startsWith(`${kind}/`) || subresource !== "status" || writes++ > 0) return;
    throw new ApiError("Conflict", "the object has been modified", { status: 409 });
  };
  await settle();
  const object = [...client.objects.values()].find((one) => one.kind === kind);
  expect(condition(object, type)).toMatchObject({ status: "False" });
  expect(condition(object, type)["message"]).toContain("is a Provider and not a Function");
});

test("a Function waits for a dependency of which there is no version", async () => {
  const { settle, fn, revision, registry, change } = packageWorld();
  const dependsOn = ', dependsOn: [{ provider: registry.example.org/acme/provider-a, version: ">=v1.0.0" }]';
  registry.contents[digestOf("a")] = META("Function", dependsOn);
  expect(await settle()).toEqual([]);
  expect(revision("a")?.["status"]).toMatchObject({ foundDependencies: 1, installedDependencies: 0 });
  expect(condition(fn(), "Healthy")["message"]).toContain(
    "cannot resolve dependencies: no version of registry.example.org/acme/provider-a is one that a package wants",
  );
  change({ skipDependencyResolution: true });
  expect(await settle()).toEqual([]);
  expect(condition(fn(), "Healthy")).toMatchObject({ status: "True" });
  expect(condition(fn(), "Installed")["message"]).toBeUndefined();
});

test("a dependency that a user deletes after its Function does not return while the revision still exists", async () => {
  const { settle, registry, client } = packageWorld();
  const source = "registry.example.org/acme/provider-a";
  registry.contents[digestOf("a")] = META("Function", `, dependsOn: [{ provider: ${source}, version: ">=v1.0.0" }]`);
  registry.versions = { [source]: ["v1.0.0"] };
  const remaining = (): string[] => [...client.objects.values()].map(({ kind }) => kind);
  const remove = (kind: string): void => {
    for (const [key, object] of client.objects) if (object.kind === kind) client.objects.delete(key);
  };
  await settle();
  remove("Provider");
  await settle();
  expect(remaining()).toContain("Provider");
  remove("Function");
  remove("Provider");
  await settle();
  expect(remaining()).toContain("FunctionRevision");
  expect(remaining()).not.toContain("Provider");
});

const PROVIDER = "registry.example.org/acme/provider-a";
const NEXT = "registry.example.org/fns/greeting:v2";

/** A Function whose versions v1 and v2 need a Provider, which has the versions 1.0.0 to 1.2.0. */
function dependencyWorld(wants: readonly [v1: string, v2: string], more: Partial<ReconcilerOptions>) {
  const world = packageWorld({}, more);
  const { registry, client } = world;
  registry.tags[NEXT] = digestOf("b");
  for (const [at, letter] of ["a", "b"].entries())
    registry.contents[digestOf(letter)] = META(
      "Function",
      `, dependsOn: [{ provider: ${PROVIDER}, version: "${wants[at]}" }]`,
    );
  registry.versions = { [PROVIDER]: ["v1.0.0", "v1.1.0", "v1.2.0", "v1"] };
  for (const [at, letter] of ["d", "e", "f"].entries()) {
    registry.tags[`${PROVIDER}:v1.${at}.0`] = digestOf(letter);
    registry.contents[digestOf(letter)] = META("Provider");
  }
  const only = (kind: string) => [...client.objects.values()].find((one) => one.kind === kind);
  return Object.assign(world, {
    provider: () => objectAt(only("Provider") ?? {}, "spec")["package"],
    resolved: () => condition(only("Lock"), "Resolved"),
    lock: () => only("Lock"),
  });
}

test("without leave, a dependency keeps its version, and the Lock says which one is wanted", async () => {
  const { settle, change, provider, resolved, lock, client } = dependencyWorld(["<v1.2.0", "v1.2.0"], {});
  await settle();
  expect(provider()).toBe(`${PROVIDER}:v1.1.0`);
  expect(resolved()).toMatchObject({ status: "True", reason: "DependencyResolutionSucceeded" });
  expect(lock()?.["packages"]).toHaveLength(2);
  const { resourceVersion } = lock()?.metadata ?? {};
  await settle();
  expect(lock()?.metadata.resourceVersion).toBe(resourceVersion);
  change({ package: NEXT });
  await settle();
  expect(provider()).toBe(`${PROVIDER}:v1.1.0`);
  expect(resolved()).toMatchObject({ status: "False", reason: "DependencyResolutionFailed" });
  expect(resolved()["message"]).toContain("is installed at v1.1.0");
  const { metadata } = lock() ?? {};
  Object.assign(metadata ?? {}, { finalizers: ["lock.pkg.crossplane.io", "a"] });
  await settle();
  expect(lock()?.metadata["finalizers"]).toHaveLength(2);
  for (const [key, { kind }] of client.objects) if (/^(Function|Provider)/.test(kind)) client.objects.delete(key);
  await settle();
  expect(lock()).toMatchObject({ metadata: { finalizers: ["a"] }, packages: [], status: { conditions: [] } });
});

test.each<[what: string, changes: "upgrades" | "downgrades", wants: [string, string], from: string, to: string]>([
  ["upgraded", "upgrades", ["v1.0.0", ">v1.0.0"], ":v1.0.0", ":v1.1.0"],
  ["upgraded to a digest", "upgrades", ["v1.0.0", digestOf("f")], ":v1.0.0", `@${digestOf("f")}`],
  ["replaced by another digest", "upgrades", [digestOf("e"), digestOf("f")], `@${digestOf("e")}`, `@${digestOf("f")}`],
  ["downgraded", "downgrades", ["*", "<v1.2.0"], ":v1.2.0", ":v1.1.0"],
])("a dependency is %s under the name that it has", async (_, changes, wants, from, to) => {
  const { settle, change, fn, provider, resolved, client, events } = dependencyWorld(wants, {
    dependencyChanges: changes,
  });
  await client.create({
    apiVersion: "pkg.crossplane.io/v1",
    kind: "Provider",
    metadata: { name: "cool-provider" },
    spec: { package: `${PROVIDER}${from}`, packagePullPolicy: "IfNotPresent" },
  });
  await settle();
  expect(provider()).toBe(`${PROVIDER}${from}`);
  change({ package: NEXT });
  await settle();
  expect(provider()).toBe(`${PROVIDER}${to}`);
  expect(resolved()).toMatchObject({ status: "True" });
  expect(condition(fn(), "Healthy")).toMatchObject({ status: "True" });
  expect(events).toContainEqual(expect.stringContaining(`changes the Provider cool-provider to ${PROVIDER}${to}`));
  expect([...client.objects.values()].filter(({ kind }) => kind === "Provider")).toHaveLength(1);
});

test("an update that is not possible leaves the dependency alone, and is retried once that helps", async () => {
  const world = dependencyWorld(["v1.2.0", "<v1.2.0"], { dependencyChanges: "upgrades" });
  const { settle, change, fn, provider, resolved, client, registry } = world;
  await settle();
  change({ package: NEXT });
  expect(await settle()).toEqual([]);
  expect(provider()).toBe(`${PROVIDER}:v1.2.0`);
  const older = `set spec.package to ${PROVIDER}:v1.1.0, or allow downgrades`;
  for (const { message } of [resolved(), condition(fn(), "Healthy")]) expect(message).toContain(older);
  registry.down = true;
  world.time += 60_000;
  expect((await settle())[0]).toContain(`cannot list the versions of the dependency ${PROVIDER}: connection refused`);
  expect(resolved()["message"]).toContain("connection refused");
  registry.down = false;
  registry.versions[PROVIDER] = ["v1.2.0", "v1.3.0"];
  registry.contents[digestOf("b")] = META("Function", `, dependsOn: [{ provider: ${PROVIDER}, version: ">v1.2.0" }]`);
  registry.tags[`${PROVIDER}:v1.3.0`] = digestOf("f");
  registry.tags["registry.example.org/fns/greeting:v3"] = digestOf("c");
  registry.contents[digestOf("c")] = registry.contents[digestOf("b")];
  client.beforeWrite = ({ verb, object, subresource }) => {
    if (verb === "patch" && object.startsWith("Provider/") && subresource === undefined)
      throw new ApiError("Forbidden", `no right to ${object}`);
  };
  change({ package: "registry.example.org/fns/greeting:v3" });
  expect((await settle())[0]).toContain("no right to Provider");
  expect(resolved()["message"]).toMatch(/no right to .*; extend the controller's role/);
  client.beforeWrite = () => {};
  await settle();
  expect(provider()).toBe(`${PROVIDER}:v1.3.0`);
  expect(resolved()).toMatchObject({ status: "True" });
});

test.each<[object: string, type: string]>([
  ["FunctionRevision", "Installed"],
  ["FunctionRuntime", "RuntimeHealthy"],
])("a %s that the controller may not create is reported", async (kind, type) => {
  const { client, settle, fn, revision } = packageWorld({}, { functionRuntimes: true });
  client.beforeWrite = ({ verb, object }) => {
    if (verb === "create" && object.startsWith(`${kind}/`)) throw new ApiError("Forbidden", `no right to ${object}`);
  };
  await settle();
  const { status, message } = condition(type === "Installed" ? fn() : revision("a"), type);
  expect({ status, message }).toEqual({
    status: "False",
    message: expect.stringMatching(/no right to .*; extend the controller's role/),
  });
});

test("a pull secret that the controller may not read is reported", async () => {
  const { client, settle, fn } = packageWorld({ packagePullSecrets: [{ name: "pull" }] });
  const { get } = client;
  client.get = async (reference, options) => {
    if (reference.kind === "Secret") throw new ApiError("Forbidden", `no right to Secret ${reference.name}`);
    return await get(reference, options);
  };
  await settle();
  expect(condition(fn(), "Installed")).toMatchObject({
    status: "False",
    message: expect.stringContaining("no right to Secret pull"),
  });
});

test("a registry that is down while the Lock is restored does not make an installed Function unhealthy", async () => {
  const { client, settle, fn, registry, revision, events } = packageWorld();
  await settle();
  const [lock] = [...client.objects].find(([, { kind }]) => kind === "Lock") ?? [];
  expect(lock).toBeDefined();
  client.objects.delete(lock ?? "");
  registry.down = true;
  await settle();
  expect(condition(revision("a"), "RevisionHealthy")).toMatchObject({ status: "True" });
  expect(condition(fn(), "Healthy")).toMatchObject({ status: "True" });
  expect(events.at(-1)).toContain("cannot read the installed package again");
  registry.down = false;
  await settle();
  expect(client.objects.has(lock ?? "")).toBe(true);
});

test("an ImageConfig with a registry that is down does not make an installed Function unhealthy", async () => {
  const { client, settle, fn, registry, revision } = packageWorld();
  await settle();
  registry.down = true;
  await client.create({
    apiVersion: "pkg.crossplane.io/v1beta1",
    kind: "ImageConfig",
    metadata: { name: "mirror" },
    spec: {
      matchImages: [{ prefix: "registry.example.org" }],
      rewriteImage: { prefix: "mirror.example.org" },
    },
  });
  await settle();
  expect(condition(revision("a"), "RevisionHealthy")).toMatchObject({ status: "True" });
  expect(condition(fn(), "Healthy")).toMatchObject({ status: "True" });
  registry.down = false;
  await settle();
  expect(revision("a")?.["status"]).toMatchObject({
    resolvedImage: expect.stringContaining("mirror.example.org/fns/greeting"),
  });
});

test("an ImageConfig that moves an installed Function and wants it signed makes it unhealthy without a signature", async () => {
  const { client, settle, registry, revision } = packageWorld();
  await settle();
  await client.create(SECRET);
  const { spec, ...signed } = signedBy(BY_KEY);
  await client.create({
    ...(signed as { apiVersion: string; kind: string }),
    spec: { ...(spec as JsonObject), rewriteImage: { prefix: "mirror.example.org/fns" } },
  });
  expect((await settle())[0]).toContain("is unsigned");
  expect(condition(revision("a"), "RevisionHealthy")).toMatchObject({ status: "False" });
  registry.signed.add(digestOf("a"));
  expect(await settle()).toEqual([]);
  expect(condition(revision("a"), "RevisionHealthy")).toMatchObject({ status: "True" });
});
