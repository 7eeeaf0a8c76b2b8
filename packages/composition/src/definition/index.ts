// Reads CompositeResourceDefinitions, and converts them to CRDs. Imports no CEL.

export type { ServiceAccountReference } from "../api/service-account.ts";
export { type Descriptions, describe } from "../api-schema/describe.ts";
export { applyDefaults } from "./apply-defaults.ts";
export { claimCrd, compositeCrd, KEPT_KEYWORDS } from "./crd.ts";
export {
  type ComposedScope,
  DEFINITION_API_VERSION,
  DEFINITION_API_VERSIONS,
  DEFINITION_FORMS,
  DEFINITION_KIND,
  type Definition,
  type DefinitionForm,
  type DefinitionScope,
  type DefinitionSpec,
  type DefinitionVersion,
  FORM_API_VERSION,
  type KindNames,
  MAX_COMPOSITE_NAME_LENGTH,
  PUBLICATION_KIND,
} from "./definition.ts";
export { DefinitionError } from "./definition-error.ts";
export { hasReclaimPolicy } from "./injected-fields.ts";
export { isForm, type LowerOptions, lowerDefinition } from "./lower.ts";
export { checkDefinition, checkPublication, type ParseDefinitionOptions, parseDefinition } from "./parse-definition.ts";
export { claimFieldOf, isNamespaced, layoutOf, layoutOfDefinition, scopeOf } from "./scope.ts";
export { definitionSpecOpenApi, formSpecOpenApi } from "./spec-open-api.ts";
