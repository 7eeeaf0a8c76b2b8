import { canonicalJson, type JsonObject, objectAt, objectsAt } from "@xfn/json";
import { expect, test } from "vitest";
import { controllerCrds } from "./controller-crds.ts";

// `npx vitest -u` writes the file: review its diff. A field that disappears from a schema is lost in stored objects.
test("the CRDs have the fields, rules, columns and names of crd-schemas.txt", async () => {
  const all = controllerCrds({
    packages: true,
    functionRuntimes: true,
    resourceComposition: true,
    usages: true,
    operations: true,
  });
  await expect(`${all.map(printCrd).join("\n")}\n`).toMatchFileSnapshot("crd-schemas.txt");
});

/** A line for each field, without descriptions. Versions with equal schemas share their lines. */
function printCrd(crd: JsonObject): string {
  const { versions: _, ...spec } = objectAt(crd, "spec");
  const heads = new Map<string, string[]>();
  for (const { schema, ...version } of objectsAt(crd, "spec", "versions")) {
    const fields = printSchema("", objectAt(schema, "openAPIV3Schema")).join("\n");
    heads.set(fields, [...(heads.get(fields) ?? []), canonicalJson(version)]);
  }
  const versions = [...heads].flatMap(([fields, lines]) => [...lines, fields]);
  return [`# ${String(objectAt(crd, "metadata")["name"])} ${canonicalJson(spec)}`, ...versions].join("\n");
}

function printSchema(path: string, schema: JsonObject): string[] {
  const { description: _, properties = {}, items, additionalProperties, required = [], ...own } = schema;
  const needed = [...(required as string[])].sort();
  return [
    `${path} ${canonicalJson({ ...own, ...(needed.length > 0 && { required: needed }) })}`,
    ...Object.entries(properties as Record<string, JsonObject>)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([name, field]) => printSchema(`${path}.${name}`, field)),
    ...(items === undefined ? [] : printSchema(`${path}[]`, items as JsonObject)),
    ...(additionalProperties === undefined ? [] : printSchema(`${path}.*`, additionalProperties as JsonObject)),
  ];
}
