import type { JsonObject } from "@xfn/json";
import { expect, test } from "vitest";
import { withOwnConversion } from "./own-conversion.ts";

const OWN = { namespace: "xfn-system", name: "provider-a", port: 9443, caBundle: "Y2E=", authority: "a" };
const crd = (conversion: JsonObject | undefined): JsonObject => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "things.example.org" },
  spec: { group: "example.org", ...(conversion && { conversion }) },
});
const webhook = (clientConfig: JsonObject): JsonObject => ({
  strategy: "Webhook",
  webhook: { clientConfig, conversionReviewVersions: ["v1"] },
});
const FOREIGN = { namespace: "kube-system", name: "metrics-server", path: "/convert", port: 443 };

test("a conversion webhook is that of the package's own runtime, whatever Service the package names", () => {
  const own = withOwnConversion(crd(webhook({ service: FOREIGN, caBundle: "ZXZpbA==" })), OWN);
  expect(own).toEqual(
    crd(
      webhook({
        service: { namespace: "xfn-system", name: "provider-a", port: 9443, path: "/convert" },
        caBundle: "Y2E=",
      }),
    ),
  );
});

test.each<[string, JsonObject, typeof OWN | undefined]>([
  ["a URL", webhook({ url: "https://evil.example.org/convert" }), OWN],
  ["a URL beside a Service", webhook({ url: "https://evil.example.org/", service: FOREIGN }), OWN],
  ["no place", webhook({}), OWN],
  ["a Service, without a runtime of its own", webhook({ service: FOREIGN }), undefined],
  ["a webhook under another strategy", { ...webhook({ service: FOREIGN }), strategy: "None" }, undefined],
  ["no webhook at all", { strategy: "Webhook" }, OWN],
  ["the fields of v1beta1", { strategy: "None", webhookClientConfig: { service: FOREIGN } }, OWN],
])("a conversion webhook with %s is refused", (_, conversion, own) => {
  expect(() => withOwnConversion(crd(conversion), own)).toThrow(
    expect.objectContaining({ code: "NotEstablished", message: expect.stringContaining("things.example.org") }),
  );
});

test.each([undefined, { strategy: "None" }])("a CRD with the conversion %j stays as it is", (conversion) => {
  expect(withOwnConversion(crd(conversion), undefined)).toEqual(crd(conversion));
});
