import type { JsonObject } from "@xfn/json";
import { expect, test } from "vitest";
import { withOwnConversion } from "./own-conversion.ts";

const OWN = { namespace: "xfn-system", name: "provider-a", port: 9443, caBundle: "Y2E=", mark: "a" };
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

test("a conversion webhook is that of the package's own runtime, even if the package names another Service", () => {
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

test.each<[string, JsonObject | undefined]>([
  ["a Service", webhook({})],
  ["a client configuration", { strategy: "Webhook", webhook: { conversionReviewVersions: ["v1"] } }],
])("a conversion webhook without %s gets all of it, as in Crossplane", (_, conversion) => {
  const service = { namespace: "xfn-system", name: "provider-a", port: 9443 };
  expect(withOwnConversion(crd(conversion), OWN)).toEqual(crd(webhook({ service, caBundle: "Y2E=" })));
});

test("a conversion without any webhook gets the Service, and the API server reports what else is missing", () => {
  const service = { namespace: "xfn-system", name: "provider-a", port: 9443 };
  const conversion = { strategy: "Webhook", webhook: { clientConfig: { service, caBundle: "Y2E=" } } };
  expect(withOwnConversion(crd({ strategy: "Webhook" }), OWN)).toEqual(crd(conversion));
});

test.each<[string, JsonObject, typeof OWN | undefined]>([
  ["a URL", webhook({ url: "https://evil.example.org/convert" }), OWN],
  ["a URL and a Service", webhook({ url: "https://evil.example.org/", service: FOREIGN }), OWN],
  ["a Service, without a runtime of its own", webhook({ service: FOREIGN }), undefined],
  ["a webhook under another strategy", { ...webhook({ service: FOREIGN }), strategy: "None" }, undefined],
  ["no place, without a runtime of its own", webhook({}), undefined],
  [
    "a webhook under another strategy, with a runtime of its own",
    { ...webhook({ service: FOREIGN }), strategy: "None" },
    OWN,
  ],
  ["the fields of v1beta1", { strategy: "None", webhookClientConfig: { service: FOREIGN } }, OWN],
])("a conversion webhook with %s is refused", (_, conversion, own) => {
  expect(() => withOwnConversion(crd(conversion), own)).toThrow(
    expect.objectContaining({ code: "NotEstablished", message: expect.stringContaining("things.example.org") }),
  );
});

test("the refusal of a webhook elsewhere names the place, also without a runtime", () => {
  const elsewhere = crd(webhook({ url: "https://evil.example.org/convert" }));
  expect(() => withOwnConversion(elsewhere, undefined)).toThrow(
    "converts its objects at https://evil.example.org/convert",
  );
});

test.each([undefined, { strategy: "None" }])("a CRD with the conversion %j stays as it is", (conversion) => {
  expect(withOwnConversion(crd(conversion), undefined)).toEqual(crd(conversion));
});
