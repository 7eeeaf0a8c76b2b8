import type { JsonObject, JsonValue, ObjectMeta } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import { map } from "../api-schema/list.ts";
import { conforms, object } from "../api-schema/object.ts";
import { ANY, custom, name, required, text } from "../api-schema/schema.ts";
import { CompositionError, type Finding } from "../reader/composition-error.ts";
import { Findings } from "../reader/field-reader.ts";
import { isObject, kindOf } from "../values/json.ts";
import { COMPOSITION_API_VERSIONS, type Composition } from "./composition.ts";
import { normalizeSpec } from "./normalize.ts";
import { SPEC } from "./spec.ts";
import type { WrittenSpec } from "./written.ts";

const ANY_TEXT = text();

const API_VERSION = custom<string>(name().openApi, (value, root, field) => {
  const apiVersion = root.string(field, value);
  if (!apiVersion || COMPOSITION_API_VERSIONS.includes(apiVersion)) return;
  const found = JSON.stringify(apiVersion.slice(0, 64));
  root.error("Invalid", field, `${found} is not one of ${COMPOSITION_API_VERSIONS.join(", ")}`);
});

const METADATA = object<ObjectMeta>(
  {
    name: ANY_TEXT,
    generateName: ANY_TEXT,
    namespace: ANY_TEXT,
    uid: ANY_TEXT,
    labels: map(ANY_TEXT),
    annotations: map(ANY_TEXT),
  },
  { onUnknown: () => undefined },
);

const COMPOSITION = object<{
  kind: string;
  apiVersion: string;
  metadata?: ObjectMeta;
  spec: WrittenSpec;
  status?: JsonValue;
}>({
  kind: required(name(), "Composition"),
  apiVersion: required(API_VERSION, COMPOSITION_API_VERSIONS[0]),
  metadata: METADATA,
  spec: required(SPEC, "the kind of composite resource, and what composes it"),
  status: ANY,
});

/** Options of {@link parseComposition}. */
export interface ParseCompositionOptions {
  /**
   * Called for each warning: unknown fields with the field that was probably meant, ignored ones. Also called for a
   * Composition with errors: a misspelt field is often why another is missing.
   */
  onWarning?: (finding: Finding) => void;
}

/**
 * Reads a Composition from a YAML or JSON document (see `readDocuments` of @xfn/json/document).
 *
 * @throws {CompositionError} with all errors of the file: field path, line and column
 */
export function parseComposition(document: ParsedDocument, options: ParseCompositionOptions = {}): Composition {
  const { composition, error, findings } = checkComposition(document);
  if (options.onWarning !== undefined) {
    for (const finding of findings) if (finding.severity === "warning") options.onWarning(finding);
  }
  if (composition === undefined) throw error;
  return composition;
}

/** The result of {@link checkComposition}: the Composition, or one error with all findings of severity `error`. */
export type CheckedComposition =
  | { composition: Composition; error?: undefined; findings: Finding[] }
  | { composition?: undefined; error: CompositionError; findings: Finding[] };

/** Checks a Composition like {@link parseComposition}, without throwing. The findings include the warnings. */
export function checkComposition(document: ParsedDocument): CheckedComposition {
  const collected = new Findings(document);
  const composition = readComposition(document, collected);
  const findings = collected.sorted();
  if (composition !== undefined && collected.errors === 0) return { composition, findings };
  const errors = findings.filter(({ severity }) => severity === "error");
  return { error: new CompositionError(errors, document.source), findings };
}

function readComposition(document: ParsedDocument, findings: Findings): Composition | undefined {
  const { value } = document;
  if (!isObject(value)) {
    findings.error("Invalid", [], `expected a Composition, found ${kindOf(value)}`);
    return undefined;
  }
  const { kind } = value;
  if (typeof kind === "string" && kind !== "" && kind !== "Composition") {
    // More findings would only repeat that this is the wrong file.
    findings.error("Invalid", ["kind"], `expected Composition, found ${JSON.stringify(kind.slice(0, 64))}`);
    return undefined;
  }
  if (!conforms(value, COMPOSITION, findings)) return undefined;
  const { apiVersion, metadata, spec } = value;
  const compositeTypeRef = spec.compositeTypeRef ?? spec.from;
  if (!compositeTypeRef) return undefined;
  return { apiVersion, kind: "Composition", metadata: metadata ?? {}, spec: normalizeSpec(spec, compositeTypeRef) };
}

/** Wraps a value without a text, such as an object from an API server, in a document. */
export function documentOf(value: JsonObject, source?: string): ParsedDocument {
  return { value, source, positionOf: () => undefined };
}
