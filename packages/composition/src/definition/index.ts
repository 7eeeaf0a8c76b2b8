// Reads CompositeResourceDefinitions, and converts them to CRDs. Imports no CEL.
export { applyDefaults } from "./apply-defaults.ts";
export { claimCrd, compositeCrd, KEPT_KEYWORDS } from "./crd.ts";
export {
  DEFINITION_API_VERSION,
  DEFINITION_API_VERSIONS,
  DEFINITION_KIND,
  type Definition,
  type DefinitionScope,
  type DefinitionSpec,
  type DefinitionVersion,
  type KindNames,
  MAX_COMPOSITE_NAME_LENGTH,
  type ServiceAccountReference,
} from "./definition.ts";
export { DefinitionError } from "./definition-error.ts";
export { hasReclaimPolicy } from "./injected-fields.ts";
export { checkDefinition, type ParseDefinitionOptions, parseDefinition } from "./parse-definition.ts";
export { layoutOf, layoutOfDefinition, scopeOf } from "./scope.ts";
export { definitionSpecOpenApi } from "./spec.ts";
