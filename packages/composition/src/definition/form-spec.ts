import { type JsonObject, type JsonPath, objectAt, valueAt } from "@xfn/json";
import { SERVICE_ACCOUNT, type ServiceAccountReference } from "../api/service-account.ts";
import { texts } from "../api-schema/list.ts";
import { ANY_OBJECT, named, type ObjectSchema, object } from "../api-schema/object.ts";
import { choice, defaulted, name, type Rule, required } from "../api-schema/schema.ts";
import { closest } from "../reader/closest.ts";
import type { FieldReader, Findings } from "../reader/field-reader.ts";
import { isObject } from "../values/json.ts";
import { checkAuthorSchema, type SchemaFindings } from "./check-author-schema.ts";
import type { ComposedScope, DefinitionForm } from "./definition.ts";
import { reservedFields } from "./injected-fields.ts";
import { type AuthorType, authorTypes, lowerDefinition } from "./lower.ts";
import { GROUP_NAME, NAMES, VERSION_NAME } from "./spec.ts";
import type { WrittenNames } from "./written.ts";

// The specs of InfrastructureDefinition, ApplicationDefinition and InfrastructurePublication as their authors write
// them: Crossplane's design "Resource Composition".

/** `spec.crdSpecTemplate`: the kind, with one version. */
interface CrdSpecTemplate {
  group: string;
  version: string;
  names: WrittenNames;
  validation?: { openAPIV3Schema: JsonObject };
}

/** The spec of an ApplicationDefinition. Both forms have these fields. */
export interface WrittenApplication {
  crdSpecTemplate: CrdSpecTemplate;
  serviceAccountRef?: ServiceAccountReference;
  defaultCompositionRef?: { name: string };
  enforcedCompositionRef?: { name: string };
}

/** The spec of an InfrastructureDefinition. */
export interface WrittenInfrastructure extends WrittenApplication {
  composedScope?: ComposedScope;
  connectionDetails?: string[];
  connectionSecret?: { keys: string[] };
}

/** The spec of an InfrastructurePublication. */
export interface WrittenPublication {
  infrastructureDefinitionReference: { name: string };
}

const RULES: readonly Rule[] = [
  ["self.group == oldSelf.group", "group cannot be changed: instances have it"],
  ["self.names.kind == oldSelf.names.kind", "names.kind cannot be changed: instances have it"],
  ["self.names.plural == oldSelf.names.plural", "names.plural cannot be changed: instances have it"],
  ["self.version == oldSelf.version", "version cannot be changed: instances are stored in it"],
];

function templateOf(form: DefinitionForm): ObjectSchema<CrdSpecTemplate> {
  return object<CrdSpecTemplate>(
    {
      group: GROUP_NAME,
      version: VERSION_NAME,
      names: required(NAMES, "the kind and its plural"),
      validation: object<NonNullable<CrdSpecTemplate["validation"]>>({
        openAPIV3Schema: required(ANY_OBJECT, "the schema of the spec"),
      }),
    },
    {
      rules: RULES,
      check(template) {
        const schema = valueAt(template.value("validation"), "openAPIV3Schema");
        if (isObject(schema))
          checkSpecSchema(form, schema, [...template.at("validation"), "openAPIV3Schema"], template);
      },
    },
  );
}

/** Checks the author's schema of the spec: in the model, it is a part of a schema with a status. */
function checkSpecSchema(form: DefinitionForm, schema: JsonObject, at: JsonPath, { findings }: FieldReader): void {
  const scope = form === "InfrastructureDefinition" ? "LegacyCluster" : "LegacyNamespaced";
  const reserved = reservedFields(scope);
  const properties = Object.keys(objectAt(schema, "properties"));
  const known = properties.filter((field) => Object.hasOwn(reserved, field));
  for (const field of known) {
    const message = "is a field that every composite resource has already; give it another name";
    findings.error("Duplicate", [...at, "properties", field], message);
  }
  for (const { path, type } of authorTypes(schema)) warnOfType(findings, [...at, ...path], type);
  if (schema["type"] !== undefined && schema["type"] !== "object")
    findings.error("Invalid", [...at, "type"], "must be object: it is the schema of the spec");
  if (known.length > 0) return;
  const lowered = lowerDefinition({
    kind: form,
    spec: { crdSpecTemplate: { validation: { openAPIV3Schema: schema } } },
  });
  const inner = valueAt(lowered, "spec", "versions", 0, "schema", "openAPIV3Schema");
  if (isObject(inner)) checkAuthorSchema(inner, [], { spec: {}, status: {} }, findingsAt(at, findings));
}

function warnOfType(findings: Findings, path: JsonPath, type: AuthorType["type"]): void {
  if (type === "int") findings.warning("Ignored", path, "int is read as integer, which schemas of CRDs have");
}

/** Findings about the schema in the model, at the places of the author's. */
function findingsAt(at: JsonPath, findings: Findings): SchemaFindings {
  const placed = (path: JsonPath): JsonPath => {
    const [properties, spec, ...rest] = path;
    return properties === "properties" && spec === "spec" ? [...at, ...rest] : [...at, ...path];
  };
  return {
    error: (code, path, message) => findings.error(code, placed(path), message),
    warning: (code, path, message) => findings.warning(code, placed(path), message),
    get errors() {
      return findings.errors;
    },
  };
}

/** The fields that both forms have. */
function commonFields(form: DefinitionForm) {
  return {
    crdSpecTemplate: required(templateOf(form), "the kind that it defines"),
    serviceAccountRef: SERVICE_ACCOUNT,
    defaultCompositionRef: named("a Composition"),
    enforcedCompositionRef: named("a Composition"),
  };
}

const KEYS = texts(name());

/** The specs of the forms. They check files, and yield the schemas of the CRDs. */
export const FORM_SPECS: Readonly<Record<DefinitionForm, ObjectSchema<WrittenApplication>>> = {
  InfrastructureDefinition: object<WrittenInfrastructure>(
    {
      connectionDetails: KEYS,
      connectionSecret: object<NonNullable<WrittenInfrastructure["connectionSecret"]>>({
        keys: required(KEYS, "the names of connection details"),
      }),
      composedScope: defaulted(choice<ComposedScope>("Cluster", "Any"), "Cluster"),
      ...commonFields("InfrastructureDefinition"),
    },
    {
      rules: [
        ["!has(self.connectionDetails) || !has(self.connectionSecret)", "give connectionDetails or connectionSecret"],
      ],
      check(spec) {
        if (spec.value("connectionDetails") === undefined || spec.value("connectionSecret") === undefined) return;
        spec.error("Duplicate", "connectionSecret", "cannot be combined with connectionDetails; give one of them");
      },
    },
  ),
  ApplicationDefinition: object<WrittenApplication>(commonFields("ApplicationDefinition"), {
    onUnknown(spec, field) {
      if (field === "connectionDetails" || field === "connectionSecret") {
        spec.warning("Ignored", field, "has no effect: applications publish no connection details; compose a Secret");
        return;
      }
      const meant = closest(field, Object.keys(commonFields("ApplicationDefinition")));
      const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
      spec.warning("Unknown", field, `is not a field of an ApplicationDefinition's spec${hint}`);
    },
  }),
};

/** The spec of an InfrastructurePublication. */
export const PUBLICATION_SPEC: ObjectSchema<WrittenPublication> = object<WrittenPublication>(
  {
    infrastructureDefinitionReference: required(
      named("an InfrastructureDefinition"),
      "the InfrastructureDefinition to publish",
    ),
  },
  {
    rules: [
      [
        "self.infrastructureDefinitionReference.name == oldSelf.infrastructureDefinitionReference.name",
        "infrastructureDefinitionReference cannot be changed: requirements have its kind",
      ],
    ],
  },
);
