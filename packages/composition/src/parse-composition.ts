import type { JsonObject, ObjectMeta } from "@xfn/functionio";
import { isObject } from "@xfn/functionio";
import type { ParsedDocument } from "@xfn/functionio/document";
import { COMPOSITION_API_VERSIONS, type Composition, type CompositionSpec, type TypeReference } from "./composition.ts";
import { CompositionError, type Finding } from "./composition-error.ts";
import { FieldReader, Findings } from "./field-reader.ts";
import { kindOf } from "./json.ts";
import { readFunctions } from "./parse-function.ts";

/** Options of {@link parseComposition}. */
export interface ParseCompositionOptions {
  /** Told of what is suspicious but usable: unknown fields with the field that was probably meant, ignored ones. */
  onWarning?: (finding: Finding) => void;
}

/**
 * A Composition from a YAML or JSON document (see `readDocuments` of @xfn/functionio/document).
 *
 * @throws {CompositionError} with all errors of the file: field path, line and column
 */
export function parseComposition(document: ParsedDocument, options: ParseCompositionOptions = {}): Composition {
  const { composition, findings } = checkComposition(document);
  const errors = findings.filter((finding) => finding.severity === "error");
  if (composition === undefined || errors.length > 0) throw new CompositionError(errors, document.source);
  for (const finding of findings) options.onWarning?.(finding);
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
  root.required("spec", specReader, "the kind of composite resource and the functions that compose it");
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
  refuseUnsupported(spec);
  const functions = readFunctions(spec);
  const undesiredResources = spec.oneOf("undesiredResources", ["Keep", "Delete"]) ?? "Keep";
  const namespace = spec.string("writeConnectionSecretsToNamespace");
  spec.warnUnknown(["publishConnectionDetailsWithStoreConfigRef"]);
  if (spec.value("functions") === undefined) {
    spec.warning("Ignored", "functions", "is missing; this Composition composes nothing");
  }
  if (compositeTypeRef === undefined || functions === undefined) return undefined;
  return {
    compositeTypeRef,
    functions,
    undesiredResources,
    ...(namespace !== undefined && { writeConnectionSecretsToNamespace: namespace }),
  };
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

/** Patch-and-transform and `mode: Pipeline` change what a Composition means: ignoring them would compose the wrong thing. */
function refuseUnsupported(spec: FieldReader): void {
  for (const field of ["resources", "to", "patchSets", "environment", "pipeline"]) {
    const value = spec.value(field);
    const empty = (Array.isArray(value) && value.length === 0) || (isObject(value) && Object.keys(value).length === 0);
    if (value === undefined || empty) continue;
    const instead =
      field === "pipeline" ? "give the steps as spec.functions" : "compose the resources in spec.functions";
    spec.error("Unsupported", field, `is not supported yet; ${instead}`);
  }
  const mode = spec.oneOf("mode", ["Resources", "Pipeline"]);
  if (mode === "Pipeline") {
    spec.error(
      "Unsupported",
      "mode",
      "Pipeline is not supported yet; leave mode out and give the steps as spec.functions",
    );
  }
}

/** A Composition's document for a value that does not come from a text, such as an object from an API server. */
export function documentOf(value: JsonObject, source?: string): ParsedDocument {
  return { value, source, positionOf: () => undefined };
}
