import { readFileSync } from "node:fs";
import { readDocuments } from "@xfn/json/document";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import schema from "../../function-io.schema.json" with { type: "json" };
import { ACCEPTED, REFUSED } from "../../testing/documents.ts";
import { both } from "../../testing/parsing.ts";

// function-io.schema.json is for other languages. It must say what our parser says.

// Without strict types: parts of an anyOf leave out the type that the whole has.
const isValid = new Ajv2020({ strictTypes: false }).compile(schema);
const valueOf = (fields: object): unknown => JSON.parse(both(fields)[0]);
const example = (name: string): unknown => {
  const text = readFileSync(new URL(`../../fixtures/function-api/${name}.yaml`, import.meta.url), "utf8");
  return readDocuments(text)[0]?.value;
};

describe("function-io.schema.json", () => {
  // A schema cannot say that names are unique.
  test.each(REFUSED.filter(([what]) => what !== "two entries of one name"))("refuses %s", (_, value) => {
    expect(isValid(valueOf(value))).toBe(false);
  });

  test.each([...ACCEPTED, ["nothing else", {}] as const])("accepts %s", (_, value) => {
    expect(isValid(valueOf(value)), JSON.stringify(isValid.errors)).toBe(true);
  });

  test.each(["observed", "compose-resource", "connection-detail", "delete-resource", "error"])(
    "accepts the example %s of Crossplane's design document",
    (name) => {
      expect(isValid(example(name)), JSON.stringify(isValid.errors)).toBe(true);
    },
  );

  test("accepts empty fields as Go prints them", () => {
    const entry = { name: "a", resource: null, connectionDetails: null, readinessChecks: null };
    const empty = { config: null, results: null, desired: { composite: null, resources: [entry] } };
    const observed = { composite: { resource: null, connectionDetails: null }, resources: null };
    expect(isValid(valueOf({ ...empty, observed })), JSON.stringify(isValid.errors)).toBe(true);
  });
});
