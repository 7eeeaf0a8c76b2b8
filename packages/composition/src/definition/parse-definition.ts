import { type JsonObject, type JsonValue, textAt, valueAt } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import { map } from "../api-schema/list.ts";
import { conforms, type ObjectSchema, object } from "../api-schema/object.ts";
import { ANY, name, required, text, textThat } from "../api-schema/schema.ts";
import type { Finding } from "../reader/composition-error.ts";
import { FieldReader, Findings } from "../reader/field-reader.ts";
import { isObject, kindOf } from "../values/json.ts";
import {
  DEFINITION_API_VERSION,
  DEFINITION_API_VERSIONS,
  DEFINITION_FORMS,
  DEFINITION_KIND,
  type Definition,
  type DefinitionForm,
  type DefinitionScope,
  type DefinitionSpec,
  FORM_API_VERSION,
  type KindNames,
  PUBLICATION_KIND,
} from "./definition.ts";
import { DefinitionError } from "./definition-error.ts";
import {
  FORM_SPECS,
  PUBLICATION_SPEC,
  type WrittenApplication,
  type WrittenInfrastructure,
  type WrittenPublication,
} from "./form-spec.ts";
import { isForm, type LowerOptions, lowerDefinition } from "./lower.ts";
import { scopeOf } from "./scope.ts";
import { specOf } from "./spec.ts";
import type { WrittenNames, WrittenSpec } from "./written.ts";

const TEXT_MAP = map(text());

interface Metadata extends JsonObject {
  name: string;
  labels?: { [key: string]: string };
  annotations?: { [key: string]: string };
}

/** A document as its author writes it. */
interface Written<Spec> {
  kind: string;
  apiVersion: string;
  metadata: Metadata;
  spec: Spec;
  status?: JsonValue;
}

type WrittenDefinition = Written<WrittenSpec>;

/** A document of a kind in these API versions. */
function documentSchema<Spec>(
  kind: string,
  apiVersions: readonly [string, ...string[]],
  spec: ObjectSchema<Spec>,
  check: (definition: FieldReader) => void,
): ObjectSchema<Written<Spec>> {
  return object<Written<JsonObject>>(
    {
      kind: required(name(), kind),
      apiVersion: required(
        textThat(name().openApi, (apiVersion) =>
          apiVersions.includes(apiVersion) ? undefined : `expected ${apiVersions.join(" or ")}`,
        ),
        apiVersions[0],
      ),
      metadata: required(
        object<Metadata>(
          {
            name: required(name(), "<plural>.<group>"),
            labels: TEXT_MAP,
            annotations: TEXT_MAP,
          },
          { onUnknown: () => undefined },
        ),
        "the definition's name",
      ),
      spec: required(spec as unknown as ObjectSchema<JsonObject>, "the kind that it defines"),
      status: ANY,
    },
    { check },
  ) as unknown as ObjectSchema<Written<Spec>>;
}

function definitionSchema(version: string): ObjectSchema<WrittenDefinition> {
  return documentSchema(DEFINITION_KIND, DEFINITION_API_VERSIONS, specOf(version), (one) =>
    checkName(one, one.value("spec")),
  );
}

function formSchema(kind: DefinitionForm): ObjectSchema<Written<WrittenApplication>> {
  return documentSchema(kind, [FORM_API_VERSION], FORM_SPECS[kind], (one) =>
    checkName(one, valueAt(one.value("spec"), "crdSpecTemplate")),
  );
}

function checkName(definition: FieldReader, spec: JsonValue | undefined): void {
  const title = textAt(definition.value("metadata"), "name");
  const [plural, group] = [textAt(spec, "names", "plural"), textAt(spec, "group")];
  if (title === undefined || plural === undefined || group === undefined) return;
  const expected = `${plural}.${group}`;
  if (title !== expected)
    definition.findings.error("Invalid", ["metadata", "name"], `must be <plural>.<group>, here ${expected}`);
}

const SCHEMAS: ReadonlyMap<unknown, ObjectSchema<WrittenDefinition>> = new Map(
  DEFINITION_API_VERSIONS.map((apiVersion) => [apiVersion, definitionSchema(apiVersion)]),
);
/** For a document of another version, which gets an error about that. */
const STORED_SCHEMA = definitionSchema(DEFINITION_API_VERSION);

const FORM_SCHEMAS: ReadonlyMap<unknown, ObjectSchema<Written<WrittenApplication>>> = new Map(
  DEFINITION_FORMS.map((kind) => [kind, formSchema(kind)]),
);

const PUBLICATION_SCHEMA = documentSchema<WrittenPublication>(
  PUBLICATION_KIND,
  [FORM_API_VERSION],
  PUBLICATION_SPEC,
  (publication) => {
    const metadata = publication.value("metadata");
    const expected = valueAt(publication.value("spec"), "infrastructureDefinitionReference", "name");
    if (!isObject(metadata) || typeof expected !== "string" || metadata["name"] === expected) return;
    const message = `must be the name of the published InfrastructureDefinition, here ${expected}`;
    publication.findings.error("Invalid", ["metadata", "name"], message);
  },
);

/**
 * Checks an InfrastructurePublication. The findings include the warnings.
 *
 * @returns an error with all findings of severity `error`; undefined if there are none
 */
export function checkPublication(document: ParsedDocument): { error?: DefinitionError; findings: Finding[] } {
  const collected = new Findings(document);
  const { value } = document;
  if (isObject(value)) PUBLICATION_SCHEMA.checkObject(new FieldReader(value, [], collected));
  else collected.error("Invalid", [], `expected an ${PUBLICATION_KIND}, found ${kindOf(value)}`);
  const findings = collected.sorted();
  if (collected.errors === 0) return { findings };
  const errors = findings.filter(({ severity }) => severity === "error");
  return { error: new DefinitionError("Invalid", errors, document.source), findings };
}

/** Options of {@link parseDefinition}. */
export interface ParseDefinitionOptions extends LowerOptions {
  /** Called for each warning: unknown fields, and fields without effect. */
  onWarning?: (finding: Finding) => void;
}

/**
 * Reads a definition of any kind from a YAML or JSON document (see `readDocuments` of @xfn/json/document).
 * Reports all errors for which an API server would reject the definition or its CRDs: names, versions, schemas that are
 * not structural, invalid defaults. CEL rules are not compiled.
 *
 * @throws {DefinitionError} with all errors of the file: field path, line and column
 */
export function parseDefinition(document: ParsedDocument, options: ParseDefinitionOptions = {}): Definition {
  const { definition, error, findings } = checkDefinition(document, options);
  if (definition === undefined) throw error;
  for (const finding of findings) options.onWarning?.(finding);
  return definition;
}

/** The result of {@link checkDefinition}: the definition, or one error with all findings of severity `error`. */
export type CheckedDefinition =
  | { definition: Definition; error?: undefined; findings: Finding[] }
  | { definition?: undefined; error: DefinitionError; findings: Finding[] };

/** Checks a definition like {@link parseDefinition}, without throwing. The findings include the warnings. */
export function checkDefinition(document: ParsedDocument, options: LowerOptions = {}): CheckedDefinition {
  const collected = new Findings(document);
  const definition = readDefinition(document, options, collected);
  const findings = collected.sorted();
  if (definition !== undefined && collected.errors === 0) return { definition, findings };
  const errors = findings.filter(({ severity }) => severity === "error");
  return { error: new DefinitionError("Invalid", errors, document.source), findings };
}

function readDefinition({ value }: ParsedDocument, options: LowerOptions, findings: Findings): Definition | undefined {
  if (!isObject(value)) {
    findings.error("Invalid", [], `expected a ${DEFINITION_KIND}, found ${kindOf(value)}`);
    return undefined;
  }
  if (isForm(value)) return readForm(value, options, findings);
  const { kind } = value;
  if (typeof kind === "string" && kind !== "" && kind !== DEFINITION_KIND) {
    // More findings would only repeat that this is the wrong file.
    findings.error("Invalid", ["kind"], `expected ${DEFINITION_KIND}, found ${JSON.stringify(kind.slice(0, 64))}`);
    return undefined;
  }
  if (!conforms(value, SCHEMAS.get(value["apiVersion"]) ?? STORED_SCHEMA, findings)) return undefined;
  const { metadata, spec } = value;
  const lowered = normalizeSpec(spec, scopeOf(value));
  return { apiVersion: DEFINITION_API_VERSION, kind: DEFINITION_KIND, metadata, spec: lowered };
}

function readForm(value: JsonObject, options: LowerOptions, findings: Findings): Definition | undefined {
  const form = DEFINITION_FORMS.find((one) => one === value["kind"]);
  const schema = FORM_SCHEMAS.get(form);
  if (form === undefined || schema === undefined || !conforms(value, schema, findings)) return undefined;
  const lowered = lowerDefinition(value, options);
  const model = normalizeSpec(lowered["spec"] as unknown as WrittenSpec, scopeOf(lowered));
  const { composedScope = "Cluster" }: WrittenInfrastructure = value.spec;
  const spec = form === "InfrastructureDefinition" ? { ...model, composedScope } : model;
  return { apiVersion: FORM_API_VERSION, kind: form, metadata: value.metadata, spec };
}

/** Fills in the defaults. */
function normalizeSpec(spec: WrittenSpec, scope: DefinitionScope): DefinitionSpec {
  const { claimNames, defaultCompositionRef, enforcedCompositionRef, conversion, metadata } = spec;
  const { serviceAccountRef } = spec;
  const { defaultCompositionRevisionSelector: revisions } = spec;
  return {
    group: spec.group,
    names: normalizeNames(spec.names),
    scope,
    ...(claimNames && { claimNames: normalizeNames(claimNames) }),
    connectionSecretKeys: spec.connectionSecretKeys ?? [],
    defaultCompositeDeletePolicy: spec.defaultCompositeDeletePolicy ?? "Background",
    defaultCompositionUpdatePolicy: spec.defaultCompositionUpdatePolicy ?? "Automatic",
    versions: spec.versions.map(({ name, served, referenceable, deprecationWarning, schema, ...rest }) => ({
      name,
      served,
      referenceable,
      deprecated: rest.deprecated ?? false,
      ...(typeof deprecationWarning === "string" && { deprecationWarning }),
      schema: { openAPIV3Schema: schema.openAPIV3Schema },
      additionalPrinterColumns: rest.additionalPrinterColumns ?? [],
      ...(rest.subresources?.scale && { subresources: { scale: rest.subresources.scale } }),
    })),
    ...(defaultCompositionRef && { defaultCompositionRef }),
    ...(revisions && { defaultCompositionRevisionSelector: { matchLabels: revisions.matchLabels } }),
    ...(enforcedCompositionRef && { enforcedCompositionRef }),
    ...(serviceAccountRef && { serviceAccountRef }),
    ...(conversion && { conversion }),
    ...(metadata && {
      metadata: {
        ...(metadata.labels && { labels: metadata.labels }),
        ...(metadata.annotations && { annotations: metadata.annotations }),
      },
    }),
  };
}

function normalizeNames({ kind, plural, singular, listKind, shortNames, categories }: WrittenNames): KindNames {
  return {
    kind,
    plural,
    ...(singular && { singular }),
    ...(listKind && { listKind }),
    shortNames: shortNames ?? [],
    categories: categories ?? [],
  };
}
