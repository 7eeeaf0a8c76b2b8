// The function SDK. Few and small files: every call of an unbundled function imports them.
export type {
  ConnectionDetail,
  DesiredResource,
  FunctionIO,
  KubernetesObject,
  ObjectMeta,
  ReadinessCheck,
  Result,
} from "../function-io/functionio.ts";
export type { JsonObject, JsonValue } from "../json/json-value.ts";
export {
  type ComposeFunction,
  type ComposeOptions,
  type Context,
  compose,
  FatalResult,
  fatal,
  type Handler,
  type,
} from "./compose.ts";
export type { Applicable, Kinds, MetadataInput, OpenResource, ResourceOf } from "./kinds.ts";
export type { DeepReadonly, Input, PartialInput } from "./readonly.ts";
export { run } from "./run.ts";
export type { SchemaIssue, SchemaResult, StandardSchema } from "./standard-schema.ts";
export type {
  DesiredCompositeState,
  DesiredState,
  EntryOptions,
  ObservedState,
  Results,
} from "./state.ts";
