import { readDocuments } from "@xfn/json/document";
import { expect, test } from "vitest";
import { checkComposition } from "./parse-composition.ts";

function findings(field: "resources" | "to", ...details: readonly string[]): readonly string[] {
  const templates = details.map(
    (list, index) => `  - {name: t${index}, base: {apiVersion: v1, kind: A}, connectionDetails: [${list}]}\n`,
  );
  const [document] = readDocuments(`apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: c}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: X}
  ${field}:
${templates.join("")}`);
  if (document === undefined) throw new Error("no document");
  return checkComposition(document).findings.map(({ severity, code, path }) => `${severity} ${code} ${path}`);
}

const KEY = "{fromConnectionSecretKey: a}";

test.each([
  ["the same key", [KEY, KEY], 1, 0],
  ["a name and a key", [KEY, "{name: a, type: FromValue, value: x}"], 1, 0],
  ["one template", [`${KEY}, {name: a, fromConnectionSecretKey: b}`], 0, 1],
])("to must not expose one name twice: %s", (_, details, template, detail) => {
  const path = `[${template}].connectionDetails[${detail}]`;
  expect(findings("to", ...details)).toEqual([`error Duplicate spec.to${path}`]);
  // As Crossplane serves it, the last one wins.
  expect(findings("resources", ...details)).toEqual([`warning Duplicate spec.resources${path}`]);
});

test("different names are not duplicates", () => {
  expect(findings("to", KEY, "{name: b, fromConnectionSecretKey: a}")).toEqual([]);
});
