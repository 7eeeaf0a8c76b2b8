// References between managed resources: `networkRef` and `networkSelector` for a field `network`.
export { type ReferenceErrorCode, ReferenceResolutionError } from "./reference-error.ts";
export type { ReferenceField, ReferencePath } from "./reference-field.ts";
export { resolveReferences } from "./resolve-references.ts";
