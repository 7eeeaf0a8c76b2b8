import type { JsonObject, JsonValue } from "@xfn/json";
import { expect, test } from "vitest";
import { builtinModels, builtinSchema } from "./index.ts";

const at = (schema: JsonValue | undefined, ...path: readonly string[]): JsonValue | undefined =>
  path.reduce<JsonValue | undefined>((found, step) => (found as JsonObject | undefined)?.[step], schema);

test("a schema has nested fields with their types", async () => {
  const schema = await builtinSchema("apps/v1", "Deployment");
  const spec = at(schema, "properties", "spec", "properties");
  expect(at(spec, "replicas")).toMatchObject({ type: "integer" });
  const pod = at(spec, "template", "properties", "spec", "properties");
  expect(at(pod, "containers")).toMatchObject({ type: "array", items: { type: "object" } });
  const container = at(pod, "containers", "items", "properties");
  expect(at(container, "resources", "properties", "limits")).toMatchObject({
    additionalProperties: { "x-kubernetes-preserve-unknown-fields": true },
  });
  expect(at(container, "livenessProbe", "properties", "httpGet", "properties", "port")).toMatchObject({
    "x-kubernetes-int-or-string": true,
  });
  expect(at(schema, "properties", "metadata")).toEqual({ type: "object" });
});

test("models have required fields and the values of fields", async () => {
  const { kinds, models } = await builtinModels();
  expect(kinds).toContainEqual({ apiVersion: "apps/v1", kind: "Deployment", model: "V1Deployment" });
  expect(kinds).toContainEqual({ apiVersion: "v1", kind: "Service", model: "V1Service" });
  expect(models.get("V1DeploymentSpec")).toContainEqual(
    expect.objectContaining({ name: "selector", required: true, type: "V1LabelSelector" }),
  );
  expect(models.get("V1ServicePort")).toContainEqual({
    name: "protocol",
    required: false,
    type: "string",
    values: ["SCTP", "TCP", "UDP"],
  });
  expect(models.has("V1CustomResourceDefinition")).toBe(false);
});

test.each([
  ["v1", "ConfigMap", "data"],
  ["rbac.authorization.k8s.io/v1", "Role", "rules"],
  ["autoscaling/v2", "HorizontalPodAutoscaler", "spec"],
  ["networking.k8s.io/v1", "NetworkPolicy", "spec"],
])("%s %s is known", async (apiVersion, kind, field) => {
  expect(at(await builtinSchema(apiVersion, kind), "properties", field)).toBeDefined();
});

test.each([
  ["apps/v1", "ConfigMap"],
  ["apps/v1beta7", "Deployment"],
  ["example.org/v1", "Deployment"],
  ["v1", "../../api"],
  ["v1/../x", "Pod"],
  ["constructor/v1", "name"],
])("%s %s is not", async (apiVersion, kind) => {
  expect(await builtinSchema(apiVersion, kind)).toBeUndefined();
});
