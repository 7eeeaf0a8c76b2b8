import { expect, test } from "vitest";
import { checkSpec } from "../../testing/check-spec.ts";

const RESOURCES = "resources: [{name: a, base: {apiVersion: v1, kind: ConfigMap}}]\n";

test("a Composition can name a service account", () => {
  const { spec, errors, warnings } = checkSpec(`${RESOURCES}serviceAccountRef: {namespace: shop, name: quotas.v1}\n`);
  expect([...errors, ...warnings]).toEqual([]);
  expect(spec?.serviceAccountRef).toEqual({ namespace: "shop", name: "quotas.v1" });
});

test.each([
  ["{}", "serviceAccountRef.namespace"],
  ["{namespace: shop}", "serviceAccountRef.name"],
  ["{namespace: shop, name: ''}", "serviceAccountRef.name"],
  // Together they would name the account `b:c` of another namespace.
  ["{namespace: 'a:b', name: c}", "serviceAccountRef.namespace"],
  ["{namespace: a, name: 'b:c'}", "serviceAccountRef.name"],
  ["{namespace: a, name: ../b}", "serviceAccountRef.name"],
])("serviceAccountRef: %s is refused", (account, path) => {
  const { errors } = checkSpec(`${RESOURCES}serviceAccountRef: ${account}\n`);
  expect(errors.join("\n")).toContain(path);
});
