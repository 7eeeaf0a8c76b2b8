// The function SDK. Few and small files: every call of an unbundled function imports them.

export type { JsonObject, JsonValue, KubernetesObject, ObjectMeta } from "@xfn/json";
export type {
  ConnectionDetail,
  DesiredResource,
  FunctionIO,
  ReadinessCheck,
  Result,
} from "../function-io/functionio.ts";
export {
  type ComposeFunction,
  type ComposeOptions,
  type Context,
  compose,
  type Handler,
  resource,
  type,
} from "./compose.ts";
export type {
  Applicable,
  KindIn,
  Kinds,
  KindsOf,
  KnownKind,
  MetadataInput,
  OpenResource,
  ResourceInput,
  ResourceOf,
} from "./kinds.ts";
export type {
  Condition,
  PipelineResponse,
  PipelineRun,
  Requirements,
  ResourceSelector,
  SchemaSelector,
  Target,
} from "./pipeline-run.ts";
export type { Conditions, Credentials, RequiredState, RunContext } from "./pipeline-state.ts";
export type { DeepReadonly, Input, PartialInput } from "./readonly.ts";
export { run } from "./run.ts";
export type { SchemaIssue, SchemaResult, StandardSchema } from "./standard-schema.ts";
export {
  type DesiredCompositeState,
  type DesiredState,
  type EntryOptions,
  FatalResult,
  fatal,
  type ObservedState,
  type ResultOptions,
  type Results,
} from "./state.ts";
