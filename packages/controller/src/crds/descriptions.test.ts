import { COMPOSITION_SPEC_OPEN_API } from "@xfn/composition";
import {
  claimCrd,
  compositeCrd,
  type Descriptions,
  definitionSpecOpenApi,
  formSpecOpenApi,
  lowerDefinition,
} from "@xfn/composition/definition";
import { isObject, type JsonObject, listAt, objectAt, objectsAt } from "@xfn/json";
import { describe, expect, test } from "vitest";
import { COMPOSITION } from "../kinds/composition-descriptions.ts";
import { DEFINITION, FORMS } from "../kinds/definition-descriptions.ts";
import { INSTANCES } from "../kinds/instance-descriptions.ts";
import { controllerCrds } from "./controller-crds.ts";

const OWN = controllerCrds({
  packages: true,
  functionRuntimes: true,
  resourceComposition: true,
  usages: true,
  operations: true,
});

const schema = {
  openAPIV3Schema: {
    type: "object",
    properties: {
      spec: { type: "object", properties: { size: { type: "integer", description: "size is the size." } } },
    },
  },
};

function definition(version: string, more: JsonObject): JsonObject {
  const versions = [{ name: "v1", served: true, referenceable: true, schema }];
  const spec = { group: "example.org", names: { kind: "XDb", plural: "xdbs" }, versions, ...more };
  return { apiVersion: `apiextensions.crossplane.io/${version}`, kind: "CompositeResourceDefinition", spec };
}

function form(kind: string): JsonObject {
  const crdSpecTemplate = { group: "example.org", version: "v1", names: { kind: "Db", plural: "dbs" } };
  return { apiVersion: "apiextensions.crossplane.io/v1alpha1", kind, spec: { crdSpecTemplate } };
}

const LEGACY = definition("v1", { claimNames: { kind: "Db", plural: "dbs" } });
const PUBLISHED = lowerDefinition(form("InfrastructureDefinition"), { isPublished: true });
const INSTANCE_CRDS: Readonly<Record<string, JsonObject>> = {
  "composites of Crossplane 1": compositeCrd(LEGACY, INSTANCES),
  claims: claimCrd(LEGACY, INSTANCES),
  "namespaced composites": compositeCrd(definition("v2", {}), INSTANCES),
  "composites of the cluster": compositeCrd(definition("v2", { scope: "Cluster" }), INSTANCES),
  infrastructure: compositeCrd(form("InfrastructureDefinition"), INSTANCES),
  requirements: claimCrd(PUBLISHED, INSTANCES),
  applications: compositeCrd(form("ApplicationDefinition"), INSTANCES),
};

/** The API server describes these fields of each kind itself. */
const STANDARD = ["apiVersion", "kind", "metadata"];

function schemasOf(crd: JsonObject): JsonObject[] {
  return objectsAt(crd, "spec", "versions").map((version) => objectAt(version, "schema", "openAPIV3Schema"));
}

/** The paths of fields without a description. */
function undescribed(field: JsonObject, path = ""): string[] {
  const { properties, items, additionalProperties } = field;
  if (isObject(items)) return undescribed(items, `${path}[]`);
  if (isObject(additionalProperties)) return undescribed(additionalProperties, `${path}.*`);
  return Object.entries(objectAt(properties)).flatMap(([name, one]) => {
    if (path === "" && STANDARD.includes(name)) return [];
    const at = `${path}.${name}`;
    return [...(objectAt(one)["description"] === undefined ? [at] : []), ...undescribed(objectAt(one), at)];
  });
}

/** The paths of the fields of a schema, without those of lists and maps. */
function pathsOf(schema: JsonObject, path = ""): string[] {
  const { properties, items, additionalProperties } = schema;
  const inner = isObject(items) ? items : additionalProperties;
  if (isObject(inner)) return pathsOf(inner, path);
  return Object.entries(objectAt(properties)).flatMap(([name, one]) => {
    return [`${path}${name}`, ...pathsOf(objectAt(one), `${path}${name}.`)];
  });
}

/** The paths of descriptions of fields that none of the schemas has. */
function unused(descriptions: Descriptions, schemas: readonly JsonObject[]): string[] {
  const known = new Set(schemas.flatMap((one) => pathsOf(one)));
  return Object.keys(descriptions).filter((path) => !known.has(path));
}

test.each(OWN.map((crd) => [String(crd.metadata?.name), crd] as const))("%s describes every field", (_, crd) => {
  for (const one of schemasOf(crd)) expect([one["description"], undescribed(one)]).toEqual([expect.any(String), []]);
});

test.each(Object.entries(INSTANCE_CRDS))("the CRD of %s describes every field that the author does not", (_, crd) => {
  for (const one of schemasOf(crd)) expect(undescribed(one)).toEqual([]);
});

describe("no description is of a field that does not exist", () => {
  test("in the tables of the controller", () => {
    const definitions = definitionSpecOpenApi("apiextensions.crossplane.io/v1");
    const kinds = ["InfrastructureDefinition", "ApplicationDefinition", "InfrastructurePublication"] as const;
    expect(unused(COMPOSITION, [COMPOSITION_SPEC_OPEN_API]).filter((path) => !isOfOtherStep(path))).toEqual([]);
    expect(unused(DEFINITION, [definitions])).toEqual([]);
    expect(unused(FORMS, kinds.map(formSpecOpenApi))).toEqual([]);
  });

  test("in the table of instances", () => {
    const all = Object.values(INSTANCE_CRDS).flatMap(schemasOf);
    // References share descriptions, and differ in their fields.
    expect(unused(INSTANCES, all).filter((path) => !path.includes("Ref"))).toEqual([]);
  });
});

/** Steps in containers and in WebAssembly share a table. */
function isOfOtherStep(path: string): boolean {
  return /\.wasm\.(?:network|resources)/.test(path);
}

test("an author's description of spec and status stays", () => {
  const described = {
    openAPIV3Schema: { type: "object", properties: { spec: { type: "object", description: "A database." } } },
  };
  const versions = [{ name: "v1", served: true, referenceable: true, schema: described }];
  const [schemaOfCrd] = schemasOf(compositeCrd(definition("v2", { versions }), INSTANCES));
  expect(objectAt(schemaOfCrd, "properties", "spec")["description"]).toBe("A database.");
  expect(listAt(schemaOfCrd, "required")).toEqual(["spec"]);
});

test.each(OWN.map((crd) => [String(crd.metadata?.name), crd] as const))("%s fits into kubectl apply", (_, crd) => {
  // kubectl apply without --server-side stores the object in an annotation, and annotations have 256 KiB together.
  expect(JSON.stringify(crd).length).toBeLessThan(256 * 1024);
});
