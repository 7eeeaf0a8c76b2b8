import type { JsonObject } from "@xfn/json";
import { expect, test } from "vitest";
import { withOwnAdmission } from "./own-admission.ts";

const OWN = { namespace: "xfn-system", name: "acme-p-1", port: 9443, caBundle: "Y2E=", mark: "a" };
const CRD: JsonObject = { kind: "CustomResourceDefinition", metadata: { name: "buckets.example.org" } };
const RULE: JsonObject = { apiGroups: ["example.org"], apiVersions: ["*"], resources: ["buckets", "buckets/status"] };
const FOREIGN: JsonObject = {
  service: { namespace: "kube-system", name: "dns", path: "/check" },
  caBundle: "ZXZpbA==",
};

const admission = (kind: string, clientConfig: JsonObject, rule = RULE, name = "check.example.org"): JsonObject => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind,
  metadata: { name: "as-the-author-named-it" },
  webhooks: [{ name, clientConfig, rules: [rule] }],
});
const refusalOf = (object: JsonObject): unknown => {
  try {
    return withOwnAdmission([CRD, object], "p", OWN);
  } catch (error) {
    return error;
  }
};

test("webhooks of both kinds are at the package's own runtime, under the name that Crossplane gives them", () => {
  const kinds = ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"];
  const clientConfig = {
    service: { namespace: "xfn-system", name: "acme-p-1", port: 9443, path: "/check" },
    caBundle: "Y2E=",
  };
  expect(withOwnAdmission([...kinds.map((kind) => admission(kind, FOREIGN)), CRD], "p", OWN)).toEqual([
    CRD,
    ...kinds.map((kind) => ({ ...admission(kind, clientConfig), metadata: { name: "crossplane-provider-p" } })),
  ]);
});

test("configurations of one kind become one, because they have one name", () => {
  const two = ["a", "b"].map((name) => admission("ValidatingWebhookConfiguration", FOREIGN, RULE, name));
  const [, one, ...more] = withOwnAdmission([CRD, ...two], "p", OWN);
  expect(one).toMatchObject({ webhooks: [{ name: "a" }, { name: "b" }] });
  expect(more).toEqual([]);
});

test("without a runtime there are no admission webhooks", () => {
  expect(withOwnAdmission([CRD, admission("ValidatingWebhookConfiguration", FOREIGN)], "p", undefined)).toEqual([CRD]);
});

test.each<[string, JsonObject, JsonObject]>([
  ["is at https://evil.example.org/", { url: "https://evil.example.org/" }, RULE],
  ["checks secrets., which", FOREIGN, { ...RULE, apiGroups: [""], resources: ["secrets"] }],
  ["checks *.example.org, which", FOREIGN, { ...RULE, resources: ["*"] }],
  ["checks buckets.*, which", FOREIGN, { ...RULE, apiGroups: ["example.org", "*"] }],
])("a webhook that %s is refused", (problem, clientConfig, rule) => {
  expect(refusalOf(admission("ValidatingWebhookConfiguration", clientConfig, rule))).toMatchObject({
    code: "NotEstablished",
    message: expect.stringContaining(problem),
  });
});
