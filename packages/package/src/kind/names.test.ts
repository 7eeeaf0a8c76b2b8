import { expect, test } from "vitest";
import { dnsLabel, isPackageName, revisionName } from "./names.ts";

test.each([
  ["function-auto-ready", "function-auto-ready-0123456789ab"],
  ["acme.example", "acme-example-0123456789ab"],
  ["x".repeat(80), `${"x".repeat(50)}-0123456789ab`],
])("the revision of %s is %s", (name, file) => {
  expect(revisionName(name, "sha256:0123456789abcdef")).toBe(file);
});

test.each([
  ["crossplane-contrib/provider-nop", "crossplane-contrib-provider-nop"],
  ["Acme_X/y", "cme-y"],
  ["/a/", "a"],
  [`${"a".repeat(62)}/b`, "a".repeat(62)],
])("the DNS label of %s is %s", (text, label) => {
  expect(dnsLabel(text)).toBe(label);
});

test.each([
  ["a.b-c", true],
  ["a_b", false],
  ["A", false],
  ["", false],
  ["a".repeat(254), false],
  [undefined, false],
])("whether %j is the name of a package: %s", (name, is) => {
  expect(isPackageName(name)).toBe(is);
});
