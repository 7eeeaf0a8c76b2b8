import { COMPOSITION_API_VERSIONS, COMPOSITION_SPEC_OPEN_API } from "@xfn/composition";
import type { JsonObject, KubernetesObject } from "@xfn/functionio";
import { COMPOSITIONS, DEFINITIONS, REVISIONS } from "../objects/kinds.ts";
import { DEFINITION_SCHEMA } from "./definition-schema.ts";
import { ANY_TEXT, CONDITIONS, INTEGER, object, type Rule } from "./schema-parts.ts";

/** By it we know CRDs that we installed: those of another program with these kinds are left alone. */
export const PART_OF_LABEL: readonly [key: string, value: string] = ["app.kubernetes.io/part-of", "xfn"];

/**
 * The CustomResourceDefinitions of the kinds that have a controller here. What a schema and CEL can say of them the
 * API server checks when they are written; the rest their controllers do.
 */
export function controllerCrds(): KubernetesObject[] {
  return [
    crd(DEFINITIONS, ["xrd", "xrds"], [version("v1", DEFINITION_SCHEMA, DEFINITION_COLUMNS)]),
    crd(
      COMPOSITIONS,
      ["comp"],
      COMPOSITION_API_VERSIONS.map((apiVersion) =>
        version(apiVersion.slice(apiVersion.indexOf("/") + 1), COMPOSITION_SCHEMA, [...TYPE_COLUMNS, SYNCED, AGE]),
      ),
    ),
    crd(
      REVISIONS,
      ["comprev"],
      [
        version("v1", REVISION_SCHEMA, [
          { name: "REVISION", type: "string", jsonPath: ".spec.revision" },
          ...TYPE_COLUMNS,
          AGE,
        ]),
      ],
    ),
  ];
}

const AGE: JsonObject = { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp" };
const SYNCED = conditionColumn("SYNCED", "Synced");
const DEFINITION_COLUMNS = [conditionColumn("ESTABLISHED", "Established"), conditionColumn("OFFERED", "Offered"), AGE];
const TYPE_COLUMNS: readonly JsonObject[] = [
  { name: "XR-KIND", type: "string", jsonPath: ".spec.compositeTypeRef.kind" },
  { name: "XR-APIVERSION", type: "string", jsonPath: ".spec.compositeTypeRef.apiVersion" },
];

const COMPOSITION_SCHEMA = root(COMPOSITION_SPEC_OPEN_API);

const COMPOSITION_FIELDS = COMPOSITION_SPEC_OPEN_API.properties;

/** Everything but the number stays as it is. */
const REVISION_SCHEMA = root(
  object(
    { ...COMPOSITION_FIELDS, revision: { ...INTEGER, minimum: 1 } },
    ["revision"],
    Object.keys(COMPOSITION_FIELDS).map((field): Rule => {
      const rule = `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`;
      return [rule, `${field}: a revision cannot be changed; change its Composition, which makes another one`];
    }),
  ),
);

function root(spec: JsonObject): JsonObject {
  return object(
    {
      apiVersion: ANY_TEXT,
      kind: ANY_TEXT,
      metadata: { type: "object" },
      spec,
      status: object({ conditions: CONDITIONS }),
    },
    ["spec"],
  );
}

function version(
  name: string,
  openAPIV3Schema: JsonObject,
  additionalPrinterColumns: readonly JsonObject[],
): JsonObject {
  return {
    name,
    served: true,
    storage: name === "v1",
    schema: { openAPIV3Schema },
    subresources: { status: {} },
    additionalPrinterColumns: [...additionalPrinterColumns],
  };
}

function crd(
  { group, kind, plural }: { group: string; kind: string; plural: string },
  shortNames: readonly string[],
  versions: readonly JsonObject[],
): KubernetesObject {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}`, labels: { [PART_OF_LABEL[0]]: PART_OF_LABEL[1] } },
    spec: {
      group,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        shortNames: [...shortNames],
        categories: ["crossplane"],
      },
      scope: "Cluster",
      versions: [...versions],
    },
  };
}

function conditionColumn(name: string, type: string): JsonObject {
  return { name, type: "string", jsonPath: `.status.conditions[?(@.type=='${type}')].status` };
}
