import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import { readDocuments } from "@xfn/json/document";
import { expect, test } from "vitest";
import { compileSchema } from "./compile.ts";
import { describeSchemaIssue } from "./structural/issue.ts";

// The results of k8s.io/apiextensions-apiserver for some 600 values, recorded by running it. These intended differences
// are not among the cases:
// - a rule that does not compile is rejected with its schema, not at each value
// - all problems of a text are reported, not only the first of length, pattern and format
// - an enum of integers does not accept 1.5 for 1, 0.3 is a multiple of 0.1, and my-long-name is a hostname
// - a value of another type is reported as such, even if the schema has a format; a list is not a text
// - items that are not objects are reported once; a whole object has no name, where Kubernetes says "in body"

interface Case {
  readonly schema: JsonObject;
  readonly value: JsonValue;
  /** The value before the update. */
  readonly old?: JsonValue;
  readonly prune?: boolean;
  /** The value, pruned if asked, with defaults. */
  readonly complete: JsonValue;
  readonly issues: readonly string[];
}

function readCases(): readonly Case[] {
  const file = new URL("../../testdata/kubernetes-validation.json.gz", import.meta.url);
  const [document] = readDocuments(gunzipSync(readFileSync(file)));
  if (!isObject(document?.value)) throw new Error("the recorded cases cannot be read");
  return document.value["cases"] as unknown as readonly Case[];
}

test("schemas and rules treat values like a Kubernetes API server", () => {
  const cases = readCases();
  expect(cases.length).toBeGreaterThan(500);
  for (const { schema, value, old, prune, complete, issues } of cases) {
    const compiled = compileSchema(schema);
    const filled = compiled.default(prune === true ? compiled.prune(value).value : value);
    expect(filled).toEqual(complete);
    const lines = new Set(compiled.validate(filled, old).map(describeSchemaIssue));
    expect([...lines].toSorted()).toEqual(issues);
  }
});
