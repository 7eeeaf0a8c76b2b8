// The Composition API and the pure parts of composing: nothing here does input or output.
export { closest } from "./closest.ts";
export {
  COMPOSITION_API_VERSIONS,
  type Composition,
  type CompositionFunction,
  type CompositionSpec,
  type ContainerFunction,
  type ContainerFunctionResources,
  type ContainerFunctionRunner,
  type ImagePullSecret,
  isCompatible,
  MAX_TIMEOUT_MS,
  type NamedTemplate,
  type NetworkPolicy,
  type PipelineStep,
  type PullPolicy,
  type TypeReference,
} from "./composition.ts";
export { CompositionError, type Finding, type FindingCode, MAX_FINDINGS } from "./composition-error.ts";
export {
  ConnectionDetailError,
  type ConnectionDetailSource,
  ConnectionDetails,
  extractConnectionDetails,
} from "./connection-details.ts";
export { checkConnectionKeys } from "./connection-keys.ts";
export { DurationError, parseDuration } from "./duration.ts";
export { EnvironmentError, type EnvironmentErrorCode } from "./environment/environment-error.ts";
export { selectEnvironment } from "./environment/select-environment.ts";
export {
  type FieldPath,
  FieldPathError,
  type FieldPathErrorCode,
  type FieldPathSegment,
  findFieldPath,
  formatFieldPath,
  getFieldPath,
  isNotFound,
  MAX_INDEX,
  parseFieldPath,
} from "./field-path.ts";
export { mergeFieldPath } from "./field-path-merge.ts";
export { deleteFieldPath, setFieldPath } from "./field-path-set.ts";
export {
  getBool,
  getInteger,
  getNumber,
  getString,
  getStringArray,
  getStringObject,
} from "./field-path-typed.ts";
export { expandWildcards } from "./field-path-wildcards.ts";
export { Float64, float64, type GoKind, type GoValue, goKind } from "./go-value.ts";
export { ANNOTATION_RESOURCE_NAME, LABEL_CLAIM_NAME, LABEL_CLAIM_NAMESPACE, LABEL_COMPOSITE } from "./names.ts";
export { checkComposition, documentOf, type ParseCompositionOptions, parseComposition } from "./parse-composition.ts";
export { parseQuantity, type Quantity, QuantityError, quantityToBytes, quantityToCores } from "./quantity.ts";
export {
  conditionStatus,
  isReady,
  isReadyUnobserved,
  READINESS_CHECK_TYPES,
  ReadinessError,
  type ReadinessSource,
} from "./readiness.ts";
export type {
  Combine,
  ConvertTransform,
  EnvironmentConfiguration,
  EnvironmentLabelSelector,
  EnvironmentSelector,
  EnvironmentSource,
  MatchPattern,
  MatchTransform,
  MathTransform,
  MergeOptions,
  Patch,
  PatchPolicy,
  PatchSet,
  PatchType,
  ResourceTemplate,
  StringTransform,
  Transform,
} from "./template.ts";
export {
  type CompiledTemplates,
  compileTemplates,
  type RenderedTemplate,
  type RenderedTemplates,
  type TemplatesInput,
  type TemplatesSpec,
} from "./templates/compile-templates.ts";
export { TemplateError, type TemplateErrorCode } from "./templates/template-error.ts";
export type { TemplateWrite } from "./templates/template-write.ts";
export { compileCombine } from "./transform/combine.ts";
export { compileTransforms } from "./transform/compile-transforms.ts";
export type { CompiledTransform } from "./transform/compiled.ts";
export { compileFormat } from "./transform/format/compile-format.ts";
export { TransformError, type TransformErrorCode } from "./transform/transform-error.ts";
