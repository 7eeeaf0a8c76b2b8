import type { JsonObject, ObjectMeta } from "@xfn/functionio";
import type { ParsedDocument } from "@xfn/functionio/document";
import { CompositionError, type Finding } from "../reader/composition-error.ts";
import { FieldReader, Findings } from "../reader/field-reader.ts";
import { isObject, kindOf } from "../values/json.ts";
import { COMPOSITION_API_VERSIONS, type Composition, type CompositionSpec, type TypeReference } from "./composition.ts";
import { readEnvironment } from "./parse-environment.ts";
import { readFunctions } from "./parse-function.ts";
import { readPipeline } from "./parse-pipeline.ts";
import { readPatchSets, readTemplates } from "./parse-template.ts";

/** Options of {@link parseComposition}. */
export interface ParseCompositionOptions {
  /**
   * Told of what is suspicious but usable: unknown fields with the field that was probably meant, ignored ones. Of a
   * Composition with errors too: a misspelt field is often why another is missing.
   */
  onWarning?: (finding: Finding) => void;
}

/**
 * A Composition from a YAML or JSON document (see `readDocuments` of @xfn/functionio/document).
 *
 * @throws {CompositionError} with all errors of the file: field path, line and column
 */
export function parseComposition(document: ParsedDocument, options: ParseCompositionOptions = {}): Composition {
  const { composition, findings } = checkComposition(document);
  const errors: Finding[] = [];
  for (const finding of findings) {
    if (finding.severity === "error") errors.push(finding);
    else options.onWarning?.(finding);
  }
  if (composition === undefined || errors.length > 0) throw new CompositionError(errors, document.source);
  return composition;
}

/** Everything there is to say about a Composition, and the Composition itself unless something is an error. */
export function checkComposition(document: ParsedDocument): { composition?: Composition; findings: Finding[] } {
  const findings = new Findings(document);
  const composition = readComposition(document, findings);
  const all = findings.sorted();
  const failed = all.some((finding) => finding.severity === "error");
  return failed || composition === undefined ? { findings: all } : { composition, findings: all };
}

function readComposition(document: ParsedDocument, findings: Findings): Composition | undefined {
  const { value } = document;
  if (!isObject(value)) {
    findings.error("Invalid", [], `expected a Composition, found ${kindOf(value)}`);
    return undefined;
  }
  const root = new FieldReader(value, [], findings);
  const kind = root.text("kind", "Composition");
  if (kind !== undefined && kind !== "Composition") {
    // Everything else would only repeat that this is the wrong file.
    root.error("Invalid", "kind", `expected Composition, found ${JSON.stringify(kind.slice(0, 64))}`);
    return undefined;
  }
  const apiVersion = root.text("apiVersion", COMPOSITION_API_VERSIONS[0] ?? "");
  if (apiVersion !== undefined && !COMPOSITION_API_VERSIONS.includes(apiVersion)) {
    const found = JSON.stringify(apiVersion.slice(0, 64));
    root.error("Invalid", "apiVersion", `${found} is not one of ${COMPOSITION_API_VERSIONS.join(", ")}`);
  }
  const metadata = readMetadata(root);
  const specReader = root.object("spec");
  root.required("spec", specReader, "the kind of composite resource, and what composes it");
  const spec = specReader && readSpec(specReader);
  root.warnUnknown(["status"]);
  if (apiVersion === undefined || kind === undefined || spec === undefined) return undefined;
  return { apiVersion, kind, metadata, spec };
}

function readMetadata(root: FieldReader): ObjectMeta {
  const metadata = root.object("metadata");
  for (const field of ["name", "generateName", "namespace", "uid"]) metadata?.string(field);
  for (const field of ["labels", "annotations"]) {
    const map = metadata?.object(field);
    for (const key of Object.keys(metadata?.value(field) ?? {})) map?.string(key);
  }
  return (root.value("metadata") ?? {}) as ObjectMeta;
}

function readSpec(spec: FieldReader): CompositionSpec | undefined {
  const compositeTypeRef = readTypeReference(spec);
  const { mode, pipeline } = readPipeline(spec);
  const patchSets = readPatchSets(spec);
  const resourcesField = readResourcesField(spec);
  const resources = readTemplates(spec, resourcesField, patchSets);
  const environment = readEnvironment(spec);
  const functions = readFunctions(spec);
  const undesiredResources = spec.oneOf("undesiredResources", ["Keep", "Delete"]) ?? "Keep";
  const namespace = spec.string("writeConnectionSecretsToNamespace");
  spec.warnUnknown(["publishConnectionDetailsWithStoreConfigRef"]);
  if (spec.value("functions") === undefined && spec.value(resourcesField) === undefined && mode !== "Pipeline") {
    spec.warning("Ignored", "functions", "is missing, as are resources; this Composition composes nothing");
  }
  if (compositeTypeRef === undefined || functions === undefined) return undefined;
  return {
    compositeTypeRef,
    ...(mode !== undefined && { mode }),
    resources,
    ...(resourcesField === "to" && { resourcesField }),
    patchSets,
    ...(environment !== undefined && { environment }),
    functions,
    ...(pipeline !== undefined && { pipeline }),
    undesiredResources,
    ...(namespace !== undefined && { writeConnectionSecretsToNamespace: namespace }),
  };
}

/** What the templates are written under: seed 004 has them in `to`. */
function readResourcesField(spec: FieldReader): "resources" | "to" {
  const to = spec.value("to") !== undefined;
  if (to && spec.value("resources") !== undefined) {
    spec.error("Invalid", "to", "says the same as resources; give only one of them");
  }
  return to ? "to" : "resources";
}

function readTypeReference(spec: FieldReader): TypeReference | undefined {
  const present = ["compositeTypeRef", "from"].filter((field) => spec.value(field) !== undefined);
  if (present.length > 1) {
    spec.error("Invalid", "from", "says the same as compositeTypeRef; give only one of them");
  }
  const field = present[0] ?? "compositeTypeRef";
  const reader = spec.object(field);
  spec.required(field, reader, "the apiVersion and kind of the composite resource");
  const apiVersion = reader?.text("apiVersion", "the API version of the composite resource");
  const kind = reader?.text("kind", "the kind of the composite resource");
  reader?.warnUnknown();
  return apiVersion === undefined || kind === undefined ? undefined : { apiVersion, kind };
}

/** A Composition's document for a value that does not come from a text, such as an object from an API server. */
export function documentOf(value: JsonObject, source?: string): ParsedDocument {
  return { value, source, positionOf: () => undefined };
}
