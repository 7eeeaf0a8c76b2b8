import { isObject, type JsonObject } from "@xfn/functionio";
import type { ParsedDocument } from "@xfn/functionio/document";
import type { Finding } from "../reader/composition-error.ts";
import { FieldReader, Findings } from "../reader/field-reader.ts";
import { kindOf } from "../values/json.ts";
import { claimConflicts } from "./crd.ts";
import { DEFINITION_API_VERSION, DEFINITION_KIND, type Definition, type DefinitionSpec } from "./definition.ts";
import { DefinitionError } from "./definition-error.ts";
import { readKindNames } from "./read-kind-names.ts";
import { readStrings, readTexts } from "./read-strings.ts";
import { readVersions } from "./read-versions.ts";

/** Options of {@link parseDefinition}. */
export interface ParseDefinitionOptions {
  /** Told of what is suspicious but usable: unknown fields, and those that have no effect. */
  onWarning?: (finding: Finding) => void;
}

/**
 * A CompositeResourceDefinition from a YAML or JSON document (see `readDocuments` of @xfn/functionio/document). What an
 * API server would refuse is an error, in the definition or in the CRDs made of it: its names, its versions, schemas that
 * are not structural, defaults that are not valid. CEL rules are not compiled here.
 *
 * @throws {DefinitionError} with all errors of the file: field path, line and column
 */
export function parseDefinition(document: ParsedDocument, options: ParseDefinitionOptions = {}): Definition {
  const { definition, error, findings } = checkDefinition(document);
  if (definition === undefined) throw error;
  for (const finding of findings) options.onWarning?.(finding);
  return definition;
}

/** What {@link checkDefinition} returns: the definition, or all of its errors as one. */
export type CheckedDefinition =
  | { definition: Definition; error?: undefined; findings: Finding[] }
  | { definition?: undefined; error: DefinitionError; findings: Finding[] };

/** Checks a definition like {@link parseDefinition}, without throwing. The findings include the warnings. */
export function checkDefinition(document: ParsedDocument): CheckedDefinition {
  const collected = new Findings(document);
  const definition = readDefinition(document, collected);
  const findings = collected.sorted();
  if (definition !== undefined && collected.errors === 0) return { definition, findings };
  const errors = findings.filter(({ severity }) => severity === "error");
  return { error: new DefinitionError("Invalid", errors, document.source), findings };
}

function readDefinition({ value }: ParsedDocument, findings: Findings): Definition | undefined {
  if (!isObject(value)) {
    findings.error("Invalid", [], `expected a ${DEFINITION_KIND}, found ${kindOf(value)}`);
    return undefined;
  }
  const root = new FieldReader(value, [], findings);
  const kind = root.text("kind", DEFINITION_KIND);
  if (kind !== undefined && kind !== DEFINITION_KIND) {
    // Everything else would only repeat that this is the wrong file.
    root.error("Invalid", "kind", `expected ${DEFINITION_KIND}, found ${JSON.stringify(kind.slice(0, 64))}`);
    return undefined;
  }
  const apiVersion = root.text("apiVersion", DEFINITION_API_VERSION);
  if (apiVersion !== undefined && apiVersion !== DEFINITION_API_VERSION) {
    root.error("Invalid", "apiVersion", `expected ${DEFINITION_API_VERSION}`);
  }
  const metadata = root.object("metadata");
  root.required("metadata", metadata, "the definition's name");
  const name = metadata?.text("name", "<plural>.<group>");
  for (const field of ["labels", "annotations"]) if (metadata !== undefined) readStrings(metadata, field);
  const specReader = root.object("spec");
  root.required("spec", specReader, "the kind that it defines");
  const spec = specReader && readSpec(specReader);
  root.warnUnknown(["status"]);
  if (metadata === undefined || spec === undefined || name === undefined) return undefined;
  const expected = `${spec.names.plural}.${spec.group}`;
  if (name !== expected) metadata.error("Invalid", "name", `must be <plural>.<group>, here ${expected}`);
  return {
    apiVersion: DEFINITION_API_VERSION,
    kind: DEFINITION_KIND,
    metadata: metadata.json,
    spec,
  };
}

// https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names
const GROUP = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/;

function readSpec(spec: FieldReader): DefinitionSpec | undefined {
  const group = spec.text("group", "the API group of the new kind, such as example.org");
  if (group !== undefined && (group.length > 253 || !GROUP.test(group))) {
    spec.error("Invalid", "group", "must be a domain name of two or more lower-case parts, such as example.org");
  }
  const names = readKindNames(spec, "names", true);
  const claimNames = readKindNames(spec, "claimNames", false);
  if (names !== undefined && claimNames !== undefined) {
    for (const field of claimConflicts({ ...names }, { ...claimNames })) {
      spec.findings.error("Invalid", [...spec.at("claimNames"), field], "is the same as in names; give another");
    }
  }
  const defaultCompositionRef = readReference(spec, "defaultCompositionRef");
  const enforcedCompositionRef = readReference(spec, "enforcedCompositionRef");
  const conversion = readConversion(spec);
  const metadata = readCrdMetadata(spec);
  const rest = {
    connectionSecretKeys: readTexts(spec, "connectionSecretKeys"),
    defaultCompositeDeletePolicy:
      spec.oneOf("defaultCompositeDeletePolicy", ["Background", "Foreground"]) ?? ("Background" as const),
    defaultCompositionUpdatePolicy:
      spec.oneOf("defaultCompositionUpdatePolicy", ["Automatic", "Manual"]) ?? ("Automatic" as const),
    versions: readVersions(spec, claimNames !== undefined),
  };
  spec.warnUnknown();
  if (group === undefined || names === undefined) return undefined;
  return {
    group,
    names,
    ...(claimNames !== undefined && { claimNames }),
    ...rest,
    ...(defaultCompositionRef !== undefined && { defaultCompositionRef }),
    ...(enforcedCompositionRef !== undefined && { enforcedCompositionRef }),
    ...(conversion !== undefined && { conversion }),
    ...(metadata !== undefined && { metadata }),
  };
}

function readReference(spec: FieldReader, field: string): { name: string } | undefined {
  const reader = spec.object(field);
  const name = reader?.text("name", "the name of a Composition");
  reader?.warnUnknown();
  return name === undefined ? undefined : { name };
}

function readConversion(spec: FieldReader): JsonObject | undefined {
  const conversion = spec.object("conversion");
  const strategy = conversion?.oneOf("strategy", ["None", "Webhook"]);
  conversion?.required("strategy", strategy, "None or Webhook");
  const webhook = conversion?.object("webhook");
  if (strategy === "Webhook") conversion?.required("webhook", webhook, "the webhook that converts");
  conversion?.warnUnknown();
  return conversion?.json;
}

function readCrdMetadata(spec: FieldReader): DefinitionSpec["metadata"] {
  const reader = spec.object("metadata");
  if (reader === undefined) return undefined;
  const labels = readStrings(reader, "labels");
  const annotations = readStrings(reader, "annotations");
  reader.warnUnknown();
  return { ...(labels !== undefined && { labels }), ...(annotations !== undefined && { annotations }) };
}
