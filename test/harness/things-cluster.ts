import type { KubernetesObject } from "@xfn/json";
import type { TestApiServer } from "./api-server.ts";
import { WIDGET_CRD } from "./composite-kinds.ts";
import { thingDefinition } from "./definitions.ts";

/** The number of widgets that each XR composes. */
export const WIDGETS = 3;

const COMPOSITION: KubernetesObject = {
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "Composition",
  metadata: { name: "things" },
  spec: {
    compositeTypeRef: { apiVersion: "example.org/v1", kind: "XThing" },
    writeConnectionSecretsToNamespace: "default",
    resources: Array.from({ length: WIDGETS }, (_, index) => ({
      name: `widget-${index}`,
      base: { apiVersion: "things.example.org/v1", kind: "Widget", spec: { size: index + 1 } },
      readinessChecks: [{ type: "None" }],
      connectionDetails: [{ name: "size", type: "FromValue", value: "1" }],
    })),
  },
};

/** Creates a definition of XThings and Things, and a Composition. A controller must run. */
export async function installThings(server: TestApiServer): Promise<void> {
  await server.apply(WIDGET_CRD as KubernetesObject, thingDefinition(), COMPOSITION);
  await server.kubectl(["wait", "xrd/xthings.example.org", "--for=condition=Offered", "--timeout=60s"]);
}

/**
 * Creates the claim `claimed` of the namespace default, and the XR `standalone`, and waits until their widgets exist. A
 * controller must run.
 */
export async function createThings(server: TestApiServer): Promise<void> {
  await installThings(server);
  await server.apply(
    { apiVersion: "example.org/v1", kind: "XThing", metadata: { name: "standalone" }, spec: {} },
    {
      apiVersion: "example.org/v1",
      kind: "Thing",
      metadata: { name: "claimed", namespace: "default" },
      spec: { writeConnectionSecretToRef: { name: "copy" } },
    },
  );
  for (const object of ["xthing/standalone", "thing/claimed"])
    await server.kubectl(["wait", object, "--for=condition=Ready", "--timeout=60s"]);
}
