// Schemas of Kubernetes' own kinds.
export { builtinSchema } from "./builtin-schema.ts";
