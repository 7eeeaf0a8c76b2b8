import { compositeCrd } from "@xfn/composition/definition";
import type { JsonObject } from "@xfn/json";
import type { TestApiServer } from "./api-server.ts";

/** The definition of the tests: XDatabase of example.org, with any spec and status. */
export const DEFINITION: JsonObject = {
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "CompositeResourceDefinition",
  metadata: { name: "xdatabases.example.org", uid: "definition" },
  spec: {
    group: "example.org",
    names: { kind: "XDatabase", plural: "xdatabases" },
    connectionSecretKeys: ["user", "password"],
    versions: [
      {
        name: "v1",
        served: true,
        referenceable: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
              status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
            },
          },
        },
      },
    ],
  },
};

/** A cluster-scoped kind of composed resources with any spec and a status. */
export const WIDGET_CRD: JsonObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.things.example.org" },
  spec: {
    group: "things.example.org",
    scope: "Cluster",
    names: { kind: "Widget", plural: "widgets", singular: "widget", listKind: "WidgetList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: {
                  size: { type: "integer", maximum: 1000 },
                  ports: {
                    type: "array",
                    items: {
                      type: "object",
                      properties: {
                        port: { type: "integer" },
                        protocol: { type: "string", default: "TCP" },
                        name: { type: "string" },
                      },
                      required: ["port"],
                    },
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["port", "protocol"],
                  },
                  labels: { type: "object", additionalProperties: { type: "string" } },
                  writeConnectionSecretToRef: {
                    type: "object",
                    properties: { name: { type: "string" }, namespace: { type: "string" } },
                  },
                },
              },
              status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
            },
          },
        },
      },
    ],
  },
};

/** Installs the kinds of the tests, and waits until they are served. */
export async function installKinds(server: TestApiServer): Promise<void> {
  const { uid: _, ...metadata } = DEFINITION["metadata"] as JsonObject;
  const crd = compositeCrd({ ...DEFINITION, metadata });
  // The owner does not exist.
  const { ownerReferences: __, ...crdMetadata } = crd["metadata"] as JsonObject;
  await server.apply({ ...crd, metadata: crdMetadata }, WIDGET_CRD);
  await server.kubectl([
    "wait",
    "--for=condition=Established",
    "--timeout=60s",
    "crd/xdatabases.example.org",
    "crd/widgets.things.example.org",
  ]);
}
