import type { Finding } from "@xfn/composition";
import { DEFINITION_FORMS, DEFINITION_KIND, PUBLICATION_KIND } from "@xfn/composition/definition";
import { isObject, type JsonObject, type JsonPath, type JsonValue, textOrEmpty } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import type { FieldError, ResourceResult } from "./result.ts";

/** The identity of a resource in its result. */
export function identityOf(value: JsonValue): Pick<ResourceResult, "apiVersion" | "kind" | "name" | "namespace"> {
  const namespace = textOrEmpty(value, "metadata", "namespace");
  return {
    apiVersion: textOrEmpty(value, "apiVersion"),
    kind: textOrEmpty(value, "kind"),
    name:
      textOrEmpty(value, "metadata", "name") ||
      textOrEmpty(value, "metadata", "annotations", "crossplane.io/composition-resource-name"),
    ...(namespace !== "" && { namespace }),
  };
}

/** The key of a kind in {@link Extensions}. */
export function kindKey(apiVersion: string, kind: string): string {
  return `${apiVersion}, Kind=${kind}`;
}

/** The position of a field in its file. */
export function positionOf(document: ParsedDocument, at: JsonPath): Pick<FieldError, "source" | "line" | "column"> {
  return { ...(document.source !== undefined && { source: document.source }), ...document.positionOf(at) };
}

/** Converts a parser's finding in a definition or composition. */
function fromFinding(document: ParsedDocument, finding: Finding): FieldError {
  const { path, message, line, column } = finding;
  return {
    type: "definition",
    field: path,
    message: path === "" ? message : `${path}: ${message}`,
    ...(document.source !== undefined && { source: document.source }),
    ...(line !== undefined && { line }),
    ...(column !== undefined && { column }),
  };
}

/** The result of a definition or composition, from its parser's findings. */
export function resultOf(document: ParsedDocument, findings: readonly Finding[]): ResourceResult {
  const of = (severity: Finding["severity"]): FieldError[] =>
    findings.filter((finding) => finding.severity === severity).map((finding) => fromFinding(document, finding));
  const errors = of("error");
  const status = errors.length === 0 ? "valid" : "invalid";
  return { ...identityOf(document.value), status, errors, warnings: of("warning") };
}

/** Whether a document has a kind, in any version of its API group. */
export function isKind(value: JsonValue, group: string, kind: string): value is JsonObject {
  return (
    isObject(value) && textOrEmpty(value, "kind") === kind && textOrEmpty(value, "apiVersion").startsWith(`${group}/`)
  );
}

/** Whether a document is a definition of any kind. */
export function isDefinition(value: JsonValue): value is JsonObject {
  return [DEFINITION_KIND, ...DEFINITION_FORMS].some((kind) => isKind(value, "apiextensions.crossplane.io", kind));
}

/** Whether a document is a definition, a publication of one, or a CRD. */
export function hasSchema({ value }: ParsedDocument): boolean {
  return (
    isDefinition(value) ||
    isKind(value, "apiextensions.crossplane.io", PUBLICATION_KIND) ||
    isKind(value, "apiextensions.k8s.io", "CustomResourceDefinition")
  );
}
