import type { JsonObject } from "@xfn/json";
import type { ResourceKind } from "@xfn/kubernetes";

/** The composites of the benchmark. */
export const XRS: ResourceKind = {
  group: "bench.example.org",
  version: "v1",
  kind: "XBench",
  plural: "xbenches",
  namespaced: false,
};
/** Their composed resources. */
export const THINGS: ResourceKind = {
  group: "things.example.org",
  version: "v1",
  kind: "Thing",
  plural: "things",
  namespaced: false,
};

export function apiOf(apiVersion: string, kind: string): { apiVersion: string; kind: string } {
  return { apiVersion, kind };
}

const ANYTHING: JsonObject = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

export function thingCrd(): JsonObject {
  return {
    ...apiOf("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    metadata: { name: "things.things.example.org" },
    spec: {
      group: THINGS.group,
      scope: "Cluster",
      names: { kind: THINGS.kind, plural: THINGS.plural },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: "object", properties: { spec: ANYTHING, status: ANYTHING } } },
        },
      ],
    },
  };
}

export function definition(): JsonObject {
  return {
    ...apiOf("apiextensions.crossplane.io/v1", "CompositeResourceDefinition"),
    metadata: { name: "xbenches.bench.example.org" },
    spec: {
      group: XRS.group,
      names: { kind: XRS.kind, plural: XRS.plural },
      versions: [
        {
          name: "v1",
          served: true,
          referenceable: true,
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: { spec: { type: "object", properties: { size: { type: "integer" } } } },
            },
          },
        },
      ],
    },
  };
}

export function composition(): JsonObject {
  const template = (name: string): JsonObject => ({
    name,
    base: { ...apiOf("things.example.org/v1", "Thing"), spec: { forProvider: { name, tags: ["a", "b"] } } },
    patches: [
      { type: "FromCompositeFieldPath", fromFieldPath: "spec.size", toFieldPath: "spec.forProvider.size" },
      {
        type: "FromCompositeFieldPath",
        fromFieldPath: "metadata.name",
        toFieldPath: "spec.forProvider.owner",
        transforms: [{ type: "string", string: { type: "Format", fmt: "owner-%s" } }],
      },
    ],
    readinessChecks: [{ type: "None" }],
  });
  return {
    ...apiOf("apiextensions.crossplane.io/v1", "Composition"),
    metadata: { name: "bench" },
    spec: {
      compositeTypeRef: apiOf("bench.example.org/v1", "XBench"),
      resources: ["first", "second", "third"].map(template),
    },
  };
}

export function xbench(name: string): JsonObject {
  return {
    ...apiOf("bench.example.org/v1", "XBench"),
    metadata: { name },
    spec: { size: 3, compositionRef: { name: "bench" } },
  };
}
