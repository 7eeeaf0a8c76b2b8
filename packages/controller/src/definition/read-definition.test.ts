import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { checkLiveDefinition } from "./read-definition.ts";

const definition = (group: string): LiveObject => ({
  apiVersion: "apiextensions.crossplane.io/v2",
  kind: "CompositeResourceDefinition",
  metadata: { name: `things.${group}`, uid: "a", resourceVersion: "1" },
  spec: {
    group,
    names: { kind: "Thing", plural: "things" },
    versions: [
      {
        name: "v1",
        served: true,
        referenceable: true,
        schema: { openAPIV3Schema: { type: "object", properties: {} } },
      },
    ],
  },
});

test("a definition is valid in a group of its author", () => {
  expect(checkLiveDefinition(definition("example.org"))).toMatchObject({
    definition: { spec: { group: "example.org" } },
  });
});

test.each([
  ["rbac.authorization.k8s.io", "Kubernetes"],
  ["apps.kubernetes.io", "Kubernetes"],
  ["pkg.crossplane.io", "the controller"],
])("a definition adds no kind to the group %s of %s", (group, owner) => {
  expect(checkLiveDefinition(definition(group))).toEqual({
    problem: expect.stringContaining(`spec.group: the API group ${group} belongs to ${owner}`),
  });
});
