import { type ComposedScope, type Definition, FORM_API_VERSION } from "@xfn/composition/definition";
import type { KubernetesObject } from "@xfn/json";
import { ApiError, type LiveObject } from "@xfn/kubernetes";
import { describe, expect, test } from "vitest";
import type { Kinds } from "../observe/discover-kinds.ts";
import { refuseOutside } from "./refuse-outside.ts";

const NAMESPACED: ReadonlySet<string> = new Set(["ConfigMap", "Widget"]);

const kinds: Kinds = {
  of: ({ kind = "" }) =>
    kind === "Unknown"
      ? new ApiError("KindNotServed", "is not served")
      : { kind, plural: `${kind.toLowerCase()}s`, namespaced: NAMESPACED.has(kind), group: "", version: "v1" },
};

interface Case {
  readonly kind: Definition["kind"];
  readonly composedScope?: ComposedScope;
  readonly namespace?: string;
  readonly resource: KubernetesObject | null;
}

/** The error code for a run that desires one resource. */
function refusal({ kind, composedScope, namespace, resource }: Case): unknown {
  const spec = { ...(composedScope && { composedScope }) };
  const definition = { apiVersion: FORM_API_VERSION, kind, metadata: { name: "xs.example.org" }, spec } as Definition;
  const xr: LiveObject = {
    apiVersion: "example.org/v1",
    kind: "X",
    metadata: { name: "x", uid: "1", resourceVersion: "1", ...(namespace && { namespace }) },
  };
  const composed = resource === null ? [] : [{ name: "a", resource, connectionDetails: [], readinessChecks: [] }];
  const run = { desired: { resources: [{ name: "a", resource }] }, composed } as never;
  try {
    refuseOutside({ definition, kinds, xr }, run);
  } catch (error) {
    return error;
  }
  return undefined;
}

const resource = (kind: string, namespace?: string | null): KubernetesObject => ({
  apiVersion: "v1",
  kind,
  metadata: { name: "a", ...(namespace !== undefined && { namespace: namespace as string }) },
});

describe("an application", () => {
  const application = { kind: "ApplicationDefinition", namespace: "team-a" } as const;

  test.each([
    ["a namespaced kind", resource("ConfigMap")],
    ["its own namespace", resource("ConfigMap", "team-a")],
    ["an empty namespace", resource("ConfigMap", "")],
    ["the namespace null", resource("ConfigMap", null)],
    ["a kind that is not served", resource("Unknown")],
    ["a deletion", null],
  ])("composes %s", (_, one) => {
    expect(refusal({ ...application, resource: one })).toBeUndefined();
  });

  test.each([
    ["another namespace", resource("ConfigMap", "team-b")],
    ["a cluster-scoped kind", resource("Node")],
    ["a cluster-scoped kind with its namespace", resource("Node", "team-a")],
  ])("must not compose %s", (_, one) => {
    expect(refusal({ ...application, resource: one })).toMatchObject({ code: "OutsideNamespace" });
  });
});

describe("infrastructure", () => {
  const infrastructure = { kind: "InfrastructureDefinition", composedScope: "Cluster" } as const;

  test.each([["Node"], ["Unknown"]])("composes a %s", (kind) => {
    expect(refusal({ ...infrastructure, resource: resource(kind) })).toBeUndefined();
  });

  test.each([
    ["without a namespace", resource("ConfigMap")],
    ["in a namespace", resource("Widget", "team-a")],
  ])("must not compose a namespaced kind %s", (_, one) => {
    const error = refusal({ ...infrastructure, resource: one });
    expect(error).toMatchObject({ code: "NamespacedResource", message: expect.stringContaining("composedScope: Any") });
  });

  test("composes a namespaced kind if its definition says so", () => {
    const one = resource("ConfigMap", "team-a");
    expect(refusal({ ...infrastructure, composedScope: "Any", resource: one })).toBeUndefined();
  });
});

test.each(["team-a", undefined])("composites of other definitions are not refused here (namespace %s)", (namespace) => {
  const kind = "CompositeResourceDefinition";
  for (const one of [resource("Node"), resource("ConfigMap", "team-b")])
    expect(refusal({ kind, resource: one, ...(namespace && { namespace }) })).toBeUndefined();
});
