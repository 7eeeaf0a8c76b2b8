// FunctionIO v1alpha1: types, parsing, printing and accumulation. Nothing here needs Node.
export { type Accumulated, accumulate } from "./function-io/accumulate.ts";
export {
  API_VERSION,
  type ConnectionDetail,
  type ConnectionDetailType,
  type Desired,
  type DesiredComposite,
  type DesiredResource,
  type ExplicitConnectionDetail,
  type FunctionIO,
  KIND,
  type Observed,
  type ObservedComposite,
  type ObservedResource,
  type ReadinessCheck,
  type ReadinessCheckType,
  type Result,
  type Severity,
  severityOf,
} from "./function-io/functionio.ts";
export { FunctionIOError } from "./function-io/functionio-error.ts";
export { type OutputLimits, outputLimits } from "./function-io/output-limits.ts";
export { type EntryState, entryState } from "./function-io/overlay.ts";
export { type ParseOptions, parseFunctionIO } from "./function-io/parse.ts";
export { printFunctionIO } from "./function-io/print.ts";
export { fromResourceList } from "./resource-list/from-resource-list.ts";
export { type ParseResourceListOptions, parseResourceList } from "./resource-list/parse-resource-list.ts";
export { type ResourceList, type ResourceListForm } from "./resource-list/resource-list.ts";
export { toResourceList } from "./resource-list/to-resource-list.ts";
export { SYSTEM_CONDITIONS } from "./sdk/pipeline-state.ts";
