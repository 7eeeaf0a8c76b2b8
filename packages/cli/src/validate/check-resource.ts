import { type Composition, checkComposition, checkConnectionKeys, type Finding } from "@xfn/composition";
import { checkPublication, MAX_COMPOSITE_NAME_LENGTH, PUBLICATION_KIND } from "@xfn/composition/definition";
import { checkPatches } from "@xfn/composition/schema";
import { isObject, textOrEmpty } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import { identityOf, isDefinition, isKind, kindKey, positionOf, resultOf } from "./documents.ts";
import { metadataErrors, withMetadata } from "./metadata-errors.ts";
import type { FieldError, ResourceResult } from "./result.ts";
import { byPosition, schemaErrors } from "./schema-errors.ts";
import { checkDefinitionFully, type Extensions, type KnownKind } from "./schemas.ts";
import { checkStepInputs } from "./step-inputs.ts";

/**
 * Validates a resource against the schema of its kind. A Composition has further results, for the inputs of its steps
 * that cannot be validated.
 */
export function checkResource(document: ParsedDocument, extensions: Extensions): readonly ResourceResult[] {
  if (!isKind(document.value, "apiextensions.crossplane.io", "Composition")) return [checkObject(document, extensions)];
  const { result, missing } = checkCompositionFully(document, extensions);
  return [result, ...missing];
}

/** Validates a Composition, and the inputs of its steps. */
export function checkCompositionFully(
  document: ParsedDocument,
  extensions: Extensions,
): { readonly result: ResourceResult; readonly missing: readonly ResourceResult[] } {
  const result = withMetadata(document, resultOf(document, compositionFindings(document, extensions)));
  const { errors, missing } = checkStepInputs(document, extensions);
  if (errors.length === 0) return { result, missing };
  return {
    result: { ...result, status: "invalid", errors: [...result.errors, ...errors].toSorted(byPosition) },
    missing,
  };
}

function checkObject(document: ParsedDocument, extensions: Extensions): ResourceResult {
  const { value } = document;
  const identity = identityOf(value);
  const nothing = { ...identity, errors: [], warnings: [] };
  if (!isObject(value) || identity.apiVersion === "" || identity.kind === "") {
    const message = "is not a Kubernetes object: apiVersion and kind are required";
    const error: FieldError = { type: "schema", field: "", message, ...positionOf(document, []) };
    return { ...nothing, status: "invalid", errors: [error] };
  }
  if (identity.apiVersion === "v1" && identity.kind === "List") {
    const message = "items: Required value: a List needs a list of objects";
    const error: FieldError = { type: "schema", field: "items", message, ...positionOf(document, ["items"]) };
    return { ...nothing, status: "invalid", errors: [error] };
  }
  const known = extensions.kinds.get(kindKey(identity.apiVersion, identity.kind));
  if (known !== undefined) {
    const { errors, warnings } = kindErrors(document, known);
    return { ...nothing, status: errors.length === 0 ? "valid" : "invalid", errors, warnings };
  }
  if (isDefinition(value)) return withMetadata(document, resultOf(document, checkDefinitionFully(document).findings));
  if (isKind(value, "apiextensions.crossplane.io", PUBLICATION_KIND))
    return withMetadata(document, resultOf(document, checkPublication(document).findings));
  return { ...nothing, status: "missingSchema" };
}

/** All findings on a Composition, with those against the definition of its composite resource and other schemas. */
function compositionFindings(document: ParsedDocument, extensions: Extensions): readonly Finding[] {
  const { composition, findings } = checkComposition(document);
  if (composition === undefined) return findings;
  const schemas = {
    of: (apiVersion: string, kind: string) => extensions.kinds.get(kindKey(apiVersion, kind))?.schema,
  };
  return [
    ...findings,
    ...checkConnectionKeys(composition, keysFor(composition, extensions), document),
    ...checkPatches(composition, document, schemas),
  ];
}

/** The connection keys of the Composition's composite resource; none if its definition is missing. */
function keysFor({ spec }: Composition, { definitions }: Extensions): readonly string[] {
  const { apiVersion, kind } = spec.compositeTypeRef;
  const definition = definitions.find(({ spec: { group, names, versions } }) => {
    return names.kind === kind && versions.some(({ name }) => `${group}/${name}` === apiVersion);
  });
  return definition?.spec.connectionSecretKeys ?? [];
}

function kindErrors(
  document: ParsedDocument,
  { schema, composed, namespaced }: KnownKind,
): { readonly errors: readonly FieldError[]; readonly warnings: readonly FieldError[] } {
  const { errors, warnings } = metadataErrors(document, namespaced);
  const long = composed ? nameErrors(document) : [];
  return { errors: [...schemaErrors(document, schema), ...errors, ...long].toSorted(byPosition), warnings };
}

function nameErrors(document: ParsedDocument): FieldError[] {
  const name = textOrEmpty(document.value, "metadata", "name");
  if (name.length <= MAX_COMPOSITE_NAME_LENGTH) return [];
  const at = ["metadata", "name"];
  const message = `metadata.name: Too long: may not be longer than ${MAX_COMPOSITE_NAME_LENGTH}: composed resources carry it in a label`;
  return [{ type: "schema", field: "metadata.name", message, ...positionOf(document, at) }];
}
