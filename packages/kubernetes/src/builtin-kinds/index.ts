// Schemas of Kubernetes' own kinds.
export type { BuiltinKind } from "./builtin-kinds.ts";
export { type BuiltinModels, builtinModels, builtinSchema, type ModelField } from "./builtin-schema.ts";
