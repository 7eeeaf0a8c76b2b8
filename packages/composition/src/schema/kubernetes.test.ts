import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { isObject, type JsonObject, type JsonValue } from "@xfn/functionio";
import { readDocuments } from "@xfn/functionio/document";
import { expect, test } from "vitest";
import { compileSchema } from "./compile.ts";
import { describeSchemaIssue } from "./structural/issue.ts";

// What k8s.io/apiextensions-apiserver said of some 600 values, recorded by running it. On purpose we differ, and such
// cases are not among them, in that
// - a rule that does not compile is refused with its schema, not at each value
// - all that is wrong with a text is told, not only the first of length, pattern and format
// - an enum of integers does not take 1.5 for 1, 0.3 is a multiple of 0.1, and my-long-name is a hostname
// - a value of another type than its schema's is called that, also where the schema has a format; a list is no text
// - items that are no objects are reported once; whole objects are called nothing, not "in body"

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
