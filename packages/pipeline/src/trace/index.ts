// The steps of a run, and the origin of each field.
export { buildTrace, type TraceInput } from "./build-trace.ts";
export { originOf } from "./origin-of.ts";
export { secretFields } from "./secret-at.ts";
export { SecretValues } from "./secret-values.ts";
export {
  TRACE_VERSION,
  type Trace,
  type TraceChange,
  type TraceEntry,
  type TraceEntryChange,
  type TraceEntryId,
  type TraceField,
  type TraceFieldId,
  type TraceOrigin,
  type TraceResult,
  type TraceStatus,
  type TraceStep,
} from "./trace.ts";
