// CompositeResourceDefinitions: reading them, and the CRDs that they stand for. Imports no CEL.
export { applyDefaults } from "./apply-defaults.ts";
export { claimCrd, compositeCrd, KEPT_KEYWORDS } from "./crd.ts";
export { DefinitionError } from "./definition-error.ts";
