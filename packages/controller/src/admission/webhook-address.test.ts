import { expect, test } from "vitest";
import { certificateNames, webhookAddress } from "./webhook-address.ts";

test.each([
  ["xfn-webhook", ["xfn-webhook.system.svc", "xfn-webhook.system.svc.cluster.local"]],
  ["https://hooks.example.org:9443", ["hooks.example.org"]],
  ["https://[::1]:9443", ["::1"]],
])("the certificate for %s has the names %j", (text, names) => {
  expect(certificateNames(webhookAddress(text), "system")).toEqual(names);
});

test.each(["", "Service", "http://a", "https://a/path", "https://user@a", "https://a/?b", "a.b"])(
  "%j is not the address of a webhook",
  (text) => {
    expect(() => webhookAddress(text)).toThrow("must be the name of a Service, or https://HOST:PORT");
  },
);
