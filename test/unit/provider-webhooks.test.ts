import { PACKAGES, type PackageOptions, packagePort, packageRevisionReconciler } from "@xfn/controller";
import { isObject, type JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { parsePackage } from "@xfn/package";
import { expect, test } from "vitest";
import { memoryClient } from "../harness/memory-client.ts";
import { digestOf, META } from "../harness/package-world.ts";

// The conversion webhooks of a Provider's CRDs, with a registry and an API server in memory.

const IMAGE = `registry.example.org/acme/provider:v1@${digestOf("a")}`;
const CRD = `
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: buckets.example.org }
spec:
  group: example.org
  names: { kind: Bucket, plural: buckets }
  scope: Cluster
  versions: [{ name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object } } }]
`;
const ADMISSION = `
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: { name: checks }
webhooks:
  - name: check.example.org
    rules: [{ apiGroups: [example.org], apiVersions: ["*"], operations: [CREATE], resources: [buckets] }]
`;
const CONVERSION = "  conversion: { strategy: Webhook, webhook: { conversionReviewVersions: [v1] } }\n";

/**
 * An active revision of a Provider with one CRD.
 *
 * @param conversion of the CRD
 * @param capabilities of the package; undefined if CRDs do not become ManagedResourceDefinitions
 * @param existing further objects
 */
function providerWorld(conversion = CONVERSION, capabilities?: string, existing: readonly LiveObject[] = []) {
  const client = memoryClient([
    {
      apiVersion: "pkg.crossplane.io/v1",
      kind: "ProviderRevision",
      metadata: { name: "p", uid: "p", resourceVersion: "1" },
      spec: { image: IMAGE, desiredState: "Active", revision: 1 },
    },
    ...existing,
  ]);
  const service = { namespace: "xfn-system", name: "first", port: 9443, caBundle: "Y2E=" };
  const listOf = (kind: string): LiveObject[] => [...client.objects.values()].filter((one) => one.kind === kind);
  const find = (kind: string): LiveObject | undefined => listOf(kind)[0];
  const state = { service, reads: 0, isServed: true };
  const context = {
    client,
    informers: {
      peek: ({ kind }: { kind: string }) => ({
        get: (name: string) => listOf(kind).find(({ metadata }) => metadata.name === name),
        list: () => listOf(kind),
        byIndex: () => [],
      }),
    },
    events: { record: () => undefined },
    packages: {
      read: async () => {
        state.reads += 1;
        const meta = META("Provider").replace("[composition]", `[${capabilities ?? ""}]`);
        return await parsePackage(Buffer.from(`${meta}${CRD}${conversion}`), {
          package: IMAGE,
          kind: "Provider",
        });
      },
    },
    namespace: "xfn-system",
    managedResources: capabilities !== undefined,
    now: () => 0,
  } as unknown as PackageOptions;
  const markOf = (): string => state.service.name;
  const webhooks = { of: async () => (state.isServed ? { ...state.service, mark: markOf() } : undefined), markOf };
  const reconcile = packageRevisionReconciler(packagePort(context), PACKAGES.Provider, webhooks);
  return Object.assign(state, {
    /** Reconciles twice, because a settled revision reads nothing. */
    settle: async (): Promise<void> => {
      for (let count = 0; count < 2; count++) await reconcile("p", new AbortController().signal);
    },
    find,
    status: (): JsonObject => find("ProviderRevision")?.["status"] as JsonObject,
    servedBy: (): unknown => {
      const spec = (find("ManagedResourceDefinition") ?? find("CustomResourceDefinition"))?.["spec"];
      const found = isObject(spec) ? spec["conversion"] : undefined;
      return (found as { webhook?: { clientConfig?: unknown } } | undefined)?.webhook?.clientConfig;
    },
  });
}

test("a CRD that names no place converts at the Service of the Provider's runtime, also once it has another name", async () => {
  const w = providerWorld();
  const at = (name: string): object => ({ service: { namespace: "xfn-system", name, port: 9443 }, caBundle: "Y2E=" });
  await w.settle();
  expect([w.servedBy(), w.reads]).toEqual([at("first"), 1]);
  w.service.name = "second";
  await w.settle();
  expect([w.servedBy(), w.reads]).toEqual([at("second"), 2]);
});

test.each([
  ["with a conversion webhook", CONVERSION],
  ["without one", ""],
])("a revision %s that a version without webhooks established is established once more", async (_, conversion) => {
  const w = providerWorld(conversion);
  await w.settle();
  delete w.status()["commonMetadataHash"];
  await w.settle();
  expect(w.reads).toBe(2);
});

test("with managed resources, the package's CRD becomes a definition, with the webhook of the runtime", async () => {
  const w = providerWorld(CONVERSION, "");
  await w.settle();
  expect(w.find("CustomResourceDefinition")).toBeUndefined();
  expect(w.find("ManagedResourceDefinition")).toMatchObject({
    apiVersion: "apiextensions.crossplane.io/v1alpha1",
    metadata: { name: "buckets.example.org", ownerReferences: [{ kind: "ProviderRevision", controller: true }] },
    spec: { state: "Active", scope: "Cluster" },
  });
  expect(w.status()["objectRefs"]).toMatchObject([{ kind: "ManagedResourceDefinition", name: "buckets.example.org" }]);
  expect(w.servedBy()).toMatchObject({ service: { name: "first" } });
  w.service.name = "second";
  await w.settle();
  expect([w.servedBy(), w.reads]).toMatchObject([{ service: { name: "second" } }, 2]);
});

const BUCKETS = { name: "buckets.example.org", uid: "x", resourceVersion: "1" };
const OWNED = [{ apiVersion: "pkg.crossplane.io/v1", kind: "ProviderRevision", name: "p", uid: "p", controller: true }];
const state = (object: LiveObject | undefined): unknown => (object?.["spec"] as JsonObject | undefined)?.["state"];

test.each(["safe-start", "Safe_Start", "SAFESTART"])(
  "with the capability %s a definition is not active",
  async (one) => {
    const w = providerWorld("", one);
    await w.settle();
    expect(state(w.find("ManagedResourceDefinition"))).toBeUndefined();
  },
);

test("a definition that is active stays so, although the new package starts safely", async () => {
  const definition = {
    apiVersion: "apiextensions.crossplane.io/v1alpha1",
    kind: "ManagedResourceDefinition",
    metadata: { ...BUCKETS, ownerReferences: OWNED },
    spec: { state: "Active" },
  };
  const w = providerWorld("", "safe-start", [definition]);
  await w.settle();
  expect(state(w.find("ManagedResourceDefinition"))).toBe("Active");
});

test("the definition of a CRD that an earlier revision established is active", async () => {
  const crd = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { ...BUCKETS, ownerReferences: OWNED },
  };
  const w = providerWorld("", "safe-start", [crd]);
  await w.settle();
  expect(state(w.find("ManagedResourceDefinition"))).toBe("Active");
});

test("a CRD of another owner has no definition", async () => {
  const crd = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { ...BUCKETS, ownerReferences: [{ ...OWNED[0], name: "q", uid: "q" }] },
  };
  const w = providerWorld("", "", [crd]);
  await expect(w.settle()).rejects.toThrow("cannot take over objects that another owner controls");
  expect(w.find("ManagedResourceDefinition")).toBeUndefined();
});

test("admission webhooks are installed once a runtime serves them, and are deleted with it", async () => {
  const w = providerWorld(`${CONVERSION.replace("Webhook", "None").replace(/, webhook.*/, " }")}${ADMISSION}`);
  const configuration = () => w.find("ValidatingWebhookConfiguration");
  w.isServed = false;
  await w.settle();
  expect(configuration()).toBeUndefined();
  w.isServed = true;
  await w.settle();
  expect(configuration()).toMatchObject({
    metadata: { name: "crossplane-provider-p", ownerReferences: [{ kind: "ProviderRevision", controller: true }] },
    webhooks: [{ clientConfig: { service: { name: "first" }, caBundle: "Y2E=" } }],
  });
  const spec = w.find("ProviderRevision")?.["spec"] as { desiredState: string };
  spec.desiredState = "Inactive";
  await w.settle();
  expect(configuration()).toBeUndefined();
});
