import type { ReconcilerOptions } from "@xfn/controller";
import { type FunctionCaller, type FunctionRequest, NO_REQUIREMENTS } from "@xfn/function-grpc";
import type { JsonObject } from "@xfn/json";
import { type PackageKind, parsePackage } from "@xfn/package";
import { apiVersionOf, COMPOSITIONS, CRDS, NAMESPACE, XTHINGS } from "./kinds.ts";

// Packages of the scenarios: the tag is the first letter of each digest, and a function writes its version to a
// ConfigMap. That of version d is never ready. The repository begins with the id of the run.

/** The content of a package of a kind, by its reference with the digest. */
function contentOf(reference: string, kind: PackageKind): string {
  const [, id = ""] = reference.split("/");
  const version = reference.slice(-1);
  // The CRD of version e is served once it is active.
  const documents: JsonObject[] = [metaOf(kind, version === "e" ? { capabilities: ["safe-start"] } : {})];
  if (kind === "Configuration") {
    const dependsOn = [{ ...FUNCTION, package: `registry.example.org/${id}/greeting`, version: digestOf("a") }];
    documents[0] = metaOf(kind, { dependsOn });
    // A later version has one more.
    for (const name of version === "a" ? ["c"] : ["c", "more"]) documents.push(compositionOf(id, name, version));
  }
  if (kind === "Provider") documents.push(crdOf(id, version));
  return documents.map((one) => JSON.stringify(one)).join("\n---\n");
}

const FUNCTION: JsonObject = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };

const metaOf = (kind: string, spec: JsonObject): JsonObject => ({
  apiVersion: "meta.pkg.crossplane.io/v1",
  kind,
  metadata: { name: "sweep" },
  spec,
});

function compositionOf(id: string, name: string, version: string): JsonObject {
  return {
    apiVersion: apiVersionOf(COMPOSITIONS),
    kind: COMPOSITIONS.kind,
    metadata: { name: `${id}-${name}`, labels: { version } },
    spec: {
      compositeTypeRef: { apiVersion: apiVersionOf(XTHINGS), kind: XTHINGS.kind },
      mode: "Pipeline",
      // Not equal, or snapshots could not tell the hashes of two Compositions apart.
      pipeline: [{ step: name, functionRef: { name: `${id}-greeting` } }],
    },
  };
}

function crdOf(id: string, version: string): JsonObject {
  const group = `${id}.example.org`;
  return {
    apiVersion: apiVersionOf(CRDS),
    kind: CRDS.kind,
    metadata: { name: `buckets.${group}`, labels: { version } },
    spec: {
      group,
      scope: "Cluster",
      names: { kind: "Bucket", plural: "buckets" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
    },
  };
}

/** The digest of the package with a tag of one letter. */
function digestOf(tag: string): string {
  return `sha256:${tag.repeat(64)}`;
}

/** Registry, runner and functions of a controller. */
export function packageContext(): Partial<ReconcilerOptions> {
  return {
    functionPackages: true,
    functionRuntimes: true,
    managedResources: true,
    rollouts: true,
    // The next reconcile of an unused revision gives its runtimes up.
    runtimeGraceMs: 0,
    packages: {
      digestOf: async (reference) => digestOf(reference.slice(-1)),
      versions: async () => [],
      verify: () => Promise.reject(new TypeError("no ImageConfig requires a signature")),
      trustedRoot: async () => undefined,
      read: async (reference, kind) =>
        parsePackage(Buffer.from(contentOf(reference, kind)), { package: reference, kind }),
    },
    functionHost: { endpoint: "unix:/run/xfn/runner.sock", ready: async () => undefined },
    functions: {
      names: [],
      byName: (name) => (name === OPERATE ? { run: operate } : undefined),
      byPackage: (reference) => ({
        run: async () => ({
          response: {
            desired: {
              resources: new Map([["version", { resource: versionMap(reference), ready: !reference.endsWith("d") }]]),
            },
            results: [],
            conditions: [],
            requirements: NO_REQUIREMENTS,
          },
          requestBytes: 0,
          responseBytes: 0,
          rounded: [],
        }),
      }),
      byEndpoint: () => {
        throw new TypeError("the runner serves all functions");
      },
      closeUnused: () => undefined,
    },
  };
}

/** The function of Operations. */
export const OPERATE = "operate";

/** Desires a ConfigMap with the name of its input, and returns the name as the output. */
async function operate({ input = {}, desired }: FunctionRequest): ReturnType<FunctionCaller["run"]> {
  const { name = "" } = input;
  const resource = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: NAMESPACE, name } };
  const resources = new Map([...desired.resources, [String(name), { resource }] as const]);
  const response = { desired: { resources }, results: [], conditions: [], requirements: NO_REQUIREMENTS };
  return { response: { ...response, output: { name } }, requestBytes: 0, responseBytes: 0, rounded: [] };
}

function versionMap(reference: string): JsonObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: NAMESPACE },
    data: { version: reference.slice(-1) },
  };
}
