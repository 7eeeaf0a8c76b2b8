import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { controllerCrds, InstallError, installCrds, migrateStorage, restoreCrds } from "@xfn/controller";
import type { JsonObject, KubernetesObject } from "@xfn/json";
import { readDocuments } from "@xfn/json/document";
import { type ConnectedClient, connect, loadKubeconfig, type RequestOutcome, startInformers } from "@xfn/kubernetes";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { OWN_CRDS, thingDefinition } from "../harness/definitions.ts";
import { needs } from "../harness/needs.ts";

// Checks the schemas and rules of the controller's own CRDs with an API server.

const composition = (spec: JsonObject, apiVersion = "apiextensions.crossplane.io/v1"): KubernetesObject => ({
  apiVersion,
  kind: "Composition",
  metadata: { name: "one" },
  spec: { compositeTypeRef: { apiVersion: "example.org/v1", kind: "XThing" }, ...spec },
});

const OWN_CRDS_ONLY = { labelSelector: "app.kubernetes.io/part-of=xfn", metadataOnly: true };
const BASE = { apiVersion: "v1", kind: "ConfigMap" };

describe("the controller's own CRDs", needs("api-server"), () => {
  let server: TestApiServer;
  let client: ConnectedClient;
  const sent: RequestOutcome[] = [];

  beforeAll(async () => {
    server = await startApiServer();
    const access = await loadKubeconfig({ path: server.admin.kubeconfig });
    client = await connect({ access, fieldManager: "test", onRequest: (outcome) => sent.push(outcome) });
    await installCrds(client);
  });
  afterAll(async () => {
    await client?.close();
    await server?.stop();
  });

  const dryRun = (object: KubernetesObject): Promise<unknown> => client.create(object, { dryRun: true });

  test("installing them again writes nothing", async () => {
    sent.length = 0;
    await installCrds(client);
    expect(sent.filter(({ verb }) => verb !== "discover").map(({ verb }) => verb)).toEqual(OWN_CRDS.map(() => "get"));
  });

  test("kubectl installs them as they are printed", async () => {
    expect(controllerCrds().map(({ metadata }) => metadata?.name)).toEqual(OWN_CRDS);
    await server.kubectl(["apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-"], {
      input: JSON.stringify({ apiVersion: "v1", kind: "List", items: controllerCrds() }),
    });
  });

  test("one that another program installed is not overwritten", async () => {
    const reference = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      name: OWN_CRDS[2] ?? "",
    };
    const label = { "app.kubernetes.io/part-of": "another" };
    await client.patch(reference, "merge", { metadata: { labels: label } });
    await expect(installCrds(client)).rejects.toThrow(InstallError);
    await client.patch(reference, "merge", { metadata: { labels: { "app.kubernetes.io/part-of": "xfn" } } });
    await installCrds(client);
  });

  test("one that another writer deletes or changes is restored, and one that was handed over is not", async () => {
    const name = "environmentconfigs.apiextensions.crossplane.io";
    const reference = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name };
    const restored: string[] = [];
    const informers = startInformers(client);
    const stop = restoreCrds({
      client,
      informers,
      served: {},
      onRestore: (crd, error) => void restored.push(error instanceof InstallError ? `${crd} ${error.code}` : crd),
    });
    const crd = { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" };
    const { informer } = informers.acquire(
      { ...crd, kind: "CustomResourceDefinition", namespaced: false },
      OWN_CRDS_ONLY,
    );
    const schema = async (): Promise<string> => JSON.stringify((await client.get(reference))["spec"] ?? "");
    const poll: typeof expect.poll = (what, options) => expect.poll(what, { timeout: 60_000, ...options });
    try {
      await informer.whenSynced();
      const before = await schema();
      const { uid } = (await client.get(reference)).metadata;
      const path = "/spec/versions/0/schema/openAPIV3Schema/properties/data";
      await client.patch(reference, "json", [{ op: "remove", path }]);
      await poll(schema).toBe(before);
      await client.delete(reference);
      await poll(async () => (await client.get(reference).catch(() => undefined))?.metadata.uid ?? uid).not.toBe(uid);
      await poll(schema).toBe(before);
      expect(new Set(restored)).toEqual(new Set([name]));
      await client.patch(reference, "merge", { metadata: { labels: { "app.kubernetes.io/part-of": null } } });
      await poll(() => restored).toContain(`${name} CrdOfAnother`);
      await client.patch(reference, "merge", { metadata: { labels: { "app.kubernetes.io/part-of": "xfn" } } });
    } finally {
      await stop();
      await informers.stop();
    }
    await installCrds(client);
  });

  test("objects of a former storage version are stored again, so that a CRD can drop it", async () => {
    const migrated = ["compositions", "environmentconfigs"].map((plural) => `${plural}.apiextensions.crossplane.io`);
    const crdOf = (name: string) => ({ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name });
    const storing = async (former: boolean): Promise<void> => {
      for (const name of migrated) {
        const { versions } = (await client.get(crdOf(name)))["spec"] as { versions: JsonObject[] };
        const own = versions.filter((version) => version["name"] !== "v0");
        const all = [
          ...own.map((one, index) => ({ ...one, storage: !former && index === 0 })),
          { ...own[0], name: "v0", storage: former },
        ];
        await client.patch(crdOf(name), "merge", { spec: { versions: all } });
      }
    };
    const storedVersions = async (): Promise<unknown[]> =>
      Promise.all(
        migrated.map(async (name) => ((await client.get(crdOf(name)))["status"] as JsonObject)["storedVersions"]),
      );
    const progress: string[] = [];
    const migrate = (): Promise<void> =>
      migrateStorage(client, {
        served: {},
        onProgress: ({ name, version, done, total }) => void progress.push(`${name} ${version} ${done}/${total}`),
      });
    await storing(true);
    const objects = [
      composition({ resources: [{ base: BASE }] }, "apiextensions.crossplane.io/v0"),
      { apiVersion: "apiextensions.crossplane.io/v0", kind: "EnvironmentConfig", metadata: { name: "one" }, data: {} },
    ];
    client.forgetKinds();
    for (const object of objects)
      await expect.poll(() => client.create(object).then(() => "", String), { timeout: 60_000 }).toBe("");
    await storing(false);
    await expect(installCrds(client)).rejects.toThrow("storedVersions");
    await migrate();
    expect(progress).toEqual([
      `${migrated[0]} v1 0/1`,
      `${migrated[0]} v1 1/1`,
      `${migrated[1]} v1beta1 0/1`,
      `${migrated[1]} v1beta1 1/1`,
    ]);
    expect(await storedVersions()).toEqual([["v1"], ["v1beta1"]]);
    sent.length = 0;
    await migrate();
    expect(sent.filter(({ verb }) => verb !== "get" && verb !== "discover")).toEqual([]);
    await installCrds(client);
    client.forgetKinds();
    for (const [index, version] of ["v1", "v1beta1"].entries())
      await client.delete({
        apiVersion: `apiextensions.crossplane.io/${version}`,
        kind: objects[index]?.kind ?? "",
        name: "one",
      });
  });

  test("a Composition is served as v1, v1alpha1 and v2alpha1", async () => {
    for (const version of ["v1", "v1alpha1", "v2alpha1"]) {
      await dryRun(composition({ resources: [{ base: BASE }] }, `apiextensions.crossplane.io/${version}`));
    }
  });

  // Literal copies from Crossplane's design "Composition Functions".
  test.each(["template", "function", "function-with-all-fields", "function-of-first-draft"])(
    "the design's Composition is accepted as it is printed: %s",
    async (name) => {
      const path = fileURLToPath(new URL(`../unit/testdata/composition-functions/${name}.yaml`, import.meta.url));
      await server.kubectl(["create", "--dry-run=server", "--validate=strict", "-f", path]);
    },
  );

  test.each<[what: string, spec: JsonObject]>([
    ["from and to", { compositeTypeRef: null, from: { apiVersion: "a/v1", kind: "B" }, to: [{ base: BASE }] }],
    [
      "functions",
      {
        functions: [
          {
            name: "one",
            type: "Container",
            config: { apiVersion: "a/v1", kind: "C", x: 9007199254740993n },
            container: {
              image: "registry/one:1",
              imagePullPolicy: "Always",
              imagePullSecrets: [{ name: "a" }],
              timeout: "1m30s",
              network: "Accessible",
              resources: { limits: { memory: "64Mi", cpu: 1 }, requests: { cpu: "0" } },
              runner: { endpoint: "unix:///@x" },
            },
          },
          { name: "two", type: "Container", container: { image: "b", network: { policy: "Runner" } } },
          { name: "three", type: "Container", container: { image: "c" }, cache: { ttl: "24h" } },
        ],
        resources: [{ name: "a", base: BASE }],
        undesiredResources: "Delete",
      },
    ],
    [
      "a pipeline",
      {
        mode: "Pipeline",
        pipeline: [
          {
            step: "a",
            functionRef: { name: "f" },
            input: { apiVersion: "a/v1", kind: "Input", x: 1 },
            credentials: [
              { name: "cloud", source: "Secret", secretRef: { namespace: "a", name: "b" } },
              { name: "none", source: "None" },
            ],
            requirements: {
              requiredResources: [
                { requirementName: "a", apiVersion: "v1", kind: "ConfigMap", matchLabels: { a: "b" } },
              ],
              requiredSchemas: [{ requirementName: "a", apiVersion: "v1", kind: "ConfigMap" }],
            },
          },
          { step: "b", functionRef: { package: "localhost:5000/f:v1" } },
          { step: "c", container: { image: "i" }, config: { apiVersion: "a/v1", kind: "C" }, cache: { ttl: "1h30m" } },
        ],
      },
    ],
    [
      "patches of all types",
      {
        patchSets: [{ name: "s", patches: [{ fromFieldPath: "spec.a" }] }],
        environment: { patches: [{ type: "ToCompositeFieldPath", fromFieldPath: "a", toFieldPath: "status.a" }] },
        resources: [
          {
            base: BASE,
            readinessChecks: [
              { type: "None" },
              { type: "MatchCondition", matchCondition: { type: "A", status: "True" } },
            ],
            connectionDetails: [{ fromConnectionSecretKey: "a" }, { name: "b", type: "FromValue", value: "c" }],
            patches: [
              { type: "PatchSet", patchSetName: "s" },
              {
                type: "CombineFromComposite",
                combine: { strategy: "string", variables: [{ fromFieldPath: "a" }], string: { fmt: "%s" } },
                toFieldPath: "b",
              },
              {
                fromFieldPath: "spec.a",
                policy: { fromFieldPath: "Required", mergeOptions: { keepMapValues: true } },
                transforms: [
                  { type: "map", map: { a: { b: [1, null] } } },
                  { type: "match", match: { patterns: [{ literal: "a", result: null }], fallbackValue: 1 } },
                  { type: "math", math: { multiply: 3 } },
                  { type: "string", string: { type: "Regexp", regexp: { match: "a+", group: 0 } } },
                  { type: "convert", convert: { toType: "object", format: "json" } },
                ],
              },
            ],
          },
        ],
      },
    ],
  ])("a Composition with %s is accepted", async (_, spec) => {
    const object = composition(spec);
    const fields = object["spec"] as JsonObject;
    for (const key of Object.keys(fields)) if (fields[key] === null) delete fields[key];
    await dryRun(object);
  });

  test("the kind of a Composition cannot be changed", async () => {
    const { metadata } = await client.create(composition({ resources: [{ base: BASE }] }));
    const reference = { apiVersion: "apiextensions.crossplane.io/v1", kind: "Composition", name: metadata.name };
    const change = { spec: { compositeTypeRef: { kind: "XOther" } } };
    await expect(client.patch(reference, "merge", change)).rejects.toThrow("cannot be changed");
    await client.delete(reference);
  });

  test.each<[what: string, spec: JsonObject, field: string]>([
    ["no kind that it is for", { compositeTypeRef: null }, "compositeTypeRef"],
    ["nothing to compose", { resources: [] }, "composes nothing"],
    ["compositeTypeRef and from", { from: { apiVersion: "a/v1", kind: "B" } }, "compositeTypeRef"],
    ["resources and to", { resources: [], to: [] }, "resources"],
    ["a base without kind", { resources: [{ base: { apiVersion: "v1" } }] }, "spec.resources[0].base.kind"],
    ["some templates without a name", { resources: [{ name: "a", base: BASE }, { base: BASE }] }, "spec.resources"],
    ["two templates of a name", { resources: [1, 2].map(() => ({ name: "a", base: BASE })) }, "spec.resources"],
    [
      "functions and templates without names",
      { functions: [{ name: "f", type: "Container", container: { image: "i" } }], resources: [{ base: BASE }] },
      "resources",
    ],
    [
      "two functions of a name",
      { functions: [1, 2].map(() => ({ name: "f", type: "Container", container: { image: "i" } })) },
      "spec.functions",
    ],
    [
      "a function without image",
      { functions: [{ name: "f", type: "Container", container: {} }] },
      "spec.functions[0].container.image",
    ],
    ["a function without container", { functions: [{ name: "f", type: "Container" }] }, "spec.functions[0]"],
    ["a function of type Webhook without one", { functions: [{ name: "f", type: "Webhook" }] }, "spec.functions[0]"],
    [
      "a webhook without https",
      { functions: [{ name: "f", type: "Webhook", webhook: { url: "http://a.example.org/" } }] },
      "spec.functions[0].webhook.url",
    ],
    [
      "a webhook and a container",
      {
        functions: [
          { name: "f", type: "Webhook", webhook: { url: "https://a.example.org/" }, container: { image: "a" } },
        ],
      },
      "spec.functions[0]",
    ],
    [
      "a timeout that is none",
      { functions: [{ name: "f", type: "Container", container: { image: "i", timeout: "soon" } }] },
      "spec.functions[0].container.timeout",
    ],
    [
      "an invalid quantity as a limit",
      {
        functions: [{ name: "f", type: "Container", container: { image: "i", resources: { limits: { cpu: "-1" } } } }],
      },
      "spec.functions[0].container.resources.limits.cpu",
    ],
    [
      "a patch without source",
      { resources: [{ base: BASE, patches: [{ toFieldPath: "a" }] }] },
      "spec.resources[0].patches[0]",
    ],
    [
      "a patch of an unknown type",
      { resources: [{ base: BASE, patches: [{ type: "Copy", fromFieldPath: "a" }] }] },
      "spec.resources[0].patches[0].type",
    ],
    [
      "a combine patch without `combine`",
      { resources: [{ base: BASE, patches: [{ type: "CombineFromComposite", toFieldPath: "a" }] }] },
      "spec.resources[0].patches[0]",
    ],
    [
      "a patch set in a patch set",
      { patchSets: [{ name: "a", patches: [{ type: "PatchSet", patchSetName: "b" }] }] },
      "spec.patchSets[0].patches[0].type",
    ],
    [
      "a transform without its own field",
      {
        resources: [
          { base: BASE, patches: [{ fromFieldPath: "a", transforms: [{ type: "map", math: { multiply: 1 } }] }] },
        ],
      },
      "spec.resources[0].patches[0].transforms[0]",
    ],
    ...(
      [
        ["math", { type: "math", math: { type: "ClampMin", multiply: 2 } }],
        ["math", { type: "math", math: { clampMin: 2 } }],
        ["string", { type: "string", string: { type: "TrimPrefix", fmt: "x" } }],
        ["match.patterns[0]", { type: "match", match: { patterns: [{ type: "regexp", literal: "a", result: 1 }] } }],
        ["convert", { type: "convert", convert: { toType: "bool", format: "json" } }],
      ] as const
    ).map(([field, transform]): [string, JsonObject, string] => [
      `the transform ${JSON.stringify(transform)}`,
      {
        resources: [{ base: BASE, patches: [{ fromFieldPath: "a", transforms: [transform] }] }],
      } as unknown as JsonObject,
      `spec.resources[0].patches[0].transforms[0].${field}`,
    ]),
    ...(
      [
        ["", { timeout: "0s" }],
        ["", { timeout: "600h" }],
        [".network", { network: "Everything" }],
        [".network", { network: { policy: "All" } }],
        [".resources.limits.memory", { resources: { limits: { memory: 0 } } }],
        [".resources.limits.cpu", { resources: { limits: { cpu: "0m" } } }],
        [".imagePullPolicy", { imagePullPolicy: "Sometimes" }],
      ] as const
    ).map(([field, container]): [string, JsonObject, string] => [
      `the container ${JSON.stringify(container)}`,
      { functions: [{ name: "f", type: "Container", container: { image: "i", ...container } }] },
      `spec.functions[0].container${field}`,
    ]),
    [
      "an environment of labels without values",
      { environment: { environmentConfigs: [{ type: "Selector", selector: { matchLabels: [{ key: "a" }] } }] } },
      "spec.environment.environmentConfigs[0].selector.matchLabels[0]",
    ],
    [
      "a readiness check for 0",
      { resources: [{ base: BASE, readinessChecks: [{ type: "MatchInteger", fieldPath: "a", matchInteger: 0 }] }] },
      "spec.resources[0].readinessChecks[0]",
    ],
    [
      "a readiness check without a field",
      { resources: [{ base: BASE, readinessChecks: [{ type: "NonEmpty" }] }] },
      "spec.resources[0].readinessChecks[0]",
    ],
    ["an unknown mode", { mode: "Magic" }, "spec.mode"],
    ["a pipeline without steps", { mode: "Pipeline" }, "pipeline"],
    ...(
      [
        ["without a function", {}, ""],
        ["with a name and a package", { functionRef: { name: "f", package: "localhost/f:v1" } }, ".functionRef"],
        ["with a package without a registry", { functionRef: { package: "f:v1" } }, ".functionRef.package"],
        ["with a package without a tag", { functionRef: { package: "localhost/f" } }, ".functionRef.package"],
        ["with half a digest", { functionRef: { package: "a.b/f@sha256:0123" } }, ".functionRef.package"],
        ["with half a digest of an image", { container: { image: "a.b/f@sha256:0123" } }, ".container.image"],
        ["with an image that is not a reference", { wasm: { image: "a b" } }, ".wasm.image"],
        ["with a folder as its image", { container: { image: "./f" } }, ".container.image"],
        ["with a cache without a time to live", { container: { image: "i" }, cache: {} }, ".cache.ttl"],
        ["with a cache for no time", { container: { image: "i" }, cache: { ttl: "0s" } }, ".cache"],
        ["with a cache for longer than a day", { container: { image: "i" }, cache: { ttl: "25h" } }, ".cache"],
        ["with a Function and a container", { functionRef: { name: "f" }, container: { image: "i" } }, ""],
        [
          "with credentials without a Secret",
          { functionRef: { name: "f" }, credentials: [{ name: "c", source: "Secret" }] },
          ".credentials[0]",
        ],
      ] as const
    ).map(([what, fields, field]): [string, JsonObject, string] => [
      `a step ${what}`,
      { mode: "Pipeline", pipeline: [{ step: "a", ...(fields as JsonObject) }] },
      `spec.pipeline[0]${field}`,
    ]),
  ])("a Composition with %s is refused with its field", async (_, spec, field) => {
    const object = composition(spec);
    const fields = object["spec"] as JsonObject;
    for (const key of Object.keys(fields)) if (fields[key] === null) delete fields[key];
    const { code, message } = (await dryRun(object).catch((error: unknown) => error)) as {
      code: string;
      message: string;
    };
    expect(code).toBe("Invalid");
    expect(message).toContain(field);
  });

  test("every Composition and definition of the examples is accepted", async () => {
    const files = globSync("examples/**/*.yaml", { exclude: (path) => path.includes("node_modules") });
    const documents = files.flatMap((file) => readDocuments(readFileSync(file, "utf8"), { source: file }));
    const kinds = ["Composition", "CompositeResourceDefinition"];
    let taken = 0;
    for (const { value, source } of documents) {
      const object = value as KubernetesObject;
      if (object.apiVersion?.startsWith("apiextensions.crossplane.io/") !== true || !kinds.includes(object.kind ?? ""))
        continue;
      const { code, message } = (await dryRun(object).catch((error: unknown) => error)) as {
        code?: string;
        message?: string;
      };
      expect([source, code, message]).toEqual([source, undefined, undefined]);
      taken++;
    }
    expect(taken).toBeGreaterThan(10);
  });

  test("a revision cannot be changed, except for its number", async () => {
    const revision = await client.create({
      ...composition({ resources: [{ name: "a", base: { ...BASE, data: { a: "1" } } }], revision: 1 }),
      kind: "CompositionRevision",
      metadata: { name: "one-1" },
    });
    const reference = { apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositionRevision", name: "one-1" };
    const change = (spec: JsonObject): Promise<unknown> => client.patch(reference, "merge", { spec });
    await change({ revision: 2 });
    for (const spec of [
      { resources: [{ name: "a", base: { ...BASE, data: { a: "2" } } }] },
      { resources: null },
      { undesiredResources: "Delete" },
      { compositeTypeRef: { kind: "XOther" } },
    ]) {
      await expect(change(spec)).rejects.toMatchObject({ code: "Invalid" });
    }
    await client.delete(reference, { preconditions: { uid: revision.metadata.uid } });
  });

  test.each<[what: string, spec: JsonObject, field: string]>([
    ["another name than its kind's", { group: "example.com" }, "metadata.name"],
    ["no version to reference", { versions: [version({ referenceable: false })] }, "spec.versions"],
    ["two versions to reference", { versions: [version({}), version({ name: "v2" })] }, "spec.versions"],
    ["two versions of a name", { versions: [version({}), version({ referenceable: false })] }, "spec.versions"],
    ["a referenceable version that is not served", { versions: [version({ served: false })] }, "spec.versions[0]"],
    ["no schema", { versions: [{ name: "v1", served: true, referenceable: true }] }, "spec.versions[0].schema"],
    ["claims named as its composites", { claimNames: { kind: "XThing", plural: "xthings" } }, "spec"],
    ["an unknown policy", { defaultCompositeDeletePolicy: "Never" }, "spec.defaultCompositeDeletePolicy"],
    ["a plural in upper case", { names: { kind: "XThing", plural: "XThings" } }, "spec.names.plural"],
  ])("a definition with %s is refused with its field", async (_, spec, field) => {
    const { code, message } = (await dryRun(thingDefinition(spec)).catch((error: unknown) => error)) as {
      code: string;
      message: string;
    };
    expect(code).toBe("Invalid");
    expect(message).toContain(field);
  });

  test("a definition's kinds cannot be changed, and claims can be added but not removed", async () => {
    const { claimNames, ...spec } = thingDefinition().spec;
    const { metadata } = await client.create({ ...thingDefinition(), spec });
    const reference = {
      apiVersion: "apiextensions.crossplane.io/v1",
      kind: "CompositeResourceDefinition",
      name: metadata.name,
    };
    const change = (more: JsonObject): Promise<unknown> => client.patch(reference, "merge", { spec: more });
    await expect(change({ names: { kind: "XOther" } })).rejects.toMatchObject({ code: "Invalid" });
    await expect(change({ group: "example.com" })).rejects.toMatchObject({ code: "Invalid" });
    await change({ claimNames: claimNames ?? null });
    await expect(change({ claimNames: null })).rejects.toMatchObject({ code: "Invalid" });
    await expect(change({ claimNames: { kind: "Other" } })).rejects.toMatchObject({ code: "Invalid" });
    await client.delete(reference);
  });
});

function version(more: JsonObject): JsonObject {
  return { name: "v1", served: true, referenceable: true, schema: { openAPIV3Schema: { type: "object" } }, ...more };
}
