import type { JsonObject } from "@xfn/json";

/**
 * A Composition of resources with ten patches each, every patch with a map and a fmt transform.
 *
 * @param resources - their number; default ten
 * @param patches - the number of patches of each
 */
export function tenPatchesEach(resources = 10, patches = 10): JsonObject {
  return {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name: "bench" },
    spec: {
      compositeTypeRef: { apiVersion: "bench.example.org/v1", kind: "XBench" },
      resources: Array.from({ length: resources }, (_, index) => template(index, patches)),
    },
  };
}

function template(index: number, patches: number): JsonObject {
  return {
    name: `resource-${index}`,
    base: {
      apiVersion: "s3.example.org/v1",
      kind: "Bucket",
      metadata: { labels: { team: "storage" } },
      spec: {
        forProvider: {
          region: "eu-west-1",
          acl: "private",
          versioning: { enabled: true },
          tags: { index: String(index) },
        },
        providerConfigRef: { name: "default" },
      },
    },
    patches: Array.from({ length: patches }, (_, patch) => ({
      type: "FromCompositeFieldPath",
      fromFieldPath: `spec.parameters.field${patch % 10}`,
      toFieldPath: `spec.forProvider.settings.value${patch}`,
      transforms: [
        { type: "map", map: { small: "t3.small", medium: "t3.medium", large: "t3.large" } },
        { type: "string", string: { type: "Format", fmt: `size-%s-${index}-${patch}` } },
      ],
    })),
  };
}

/** An XR for it. */
export function benchComposite(name = "bench"): JsonObject {
  const sizes = ["small", "medium", "large"];
  return {
    apiVersion: "bench.example.org/v1",
    kind: "XBench",
    metadata: { name, uid: `uid-${name}`, labels: { "crossplane.io/composite": name } },
    spec: {
      parameters: Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`field${at}`, sizes[at % 3] ?? ""])),
    },
  };
}
