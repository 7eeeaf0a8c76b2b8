// The Composition API and the pure parts of composing: nothing here does input or output.

export {
  COMPOSITION_API_VERSIONS,
  type Composition,
  type CompositionFunction,
  type ContainerStep,
  type FunctionForm,
  type ImagePullSecret,
  isCompatible,
  type PackageStep,
  type PullPolicy,
  type Rollout,
  type Step,
  type StepSettings,
  type WebhookFunction,
  type WebhookStep,
} from "./api/composition.ts";
export { checkConnectionKeys } from "./api/connection-keys.ts";
export { connectionDetailName } from "./api/detail-names.ts";
export { isPackageReference, PACKAGE_REFERENCE } from "./api/image-reference.ts";
export { ANNOTATION_RESOURCE_NAME, LABEL_CLAIM_NAME, LABEL_CLAIM_NAMESPACE, LABEL_COMPOSITE } from "./api/labels.ts";
export { type Layout, machineryOf, machineryPath, publishesDetails, specWith } from "./api/machinery.ts";
export {
  OPERATION_API_VERSION,
  OPERATION_SPEC_OPEN_API,
  type Operation,
  parseOperation,
  WATCHED_RESOURCE,
  withWatchedResource,
} from "./api/operation.ts";
export { checkComposition, documentOf, parseComposition } from "./api/parse-composition.ts";
export { COMPOSITION_SPEC_OPEN_API } from "./api/spec.ts";
export {
  callsFunctions,
  type ImageChange,
  isComplete,
  mapImages,
  packageStepsOf,
  type StepTraits,
  stepsOf,
  traitsOf,
} from "./api/steps.ts";
export type { Combine, Patch, PatchSet, ResourceTemplate, Transform } from "./api/template.ts";
export { EnvironmentError } from "./environment/environment-error.ts";
export {
  concernsEnvironment,
  mergeEnvironment,
  namedEnvironmentConfigs,
  selectEnvironment,
  selectEnvironmentConfigs,
} from "./environment/select-environment.ts";
export {
  type FieldPath,
  FieldPathError,
  type FieldPathSegment,
  findFieldPath,
  formatFieldPath,
  getFieldPath,
  isNotFound,
  MAX_INDEX,
  parseFieldPath,
} from "./field-path/field-path.ts";
export { type MergeOptions, mergeFieldPath } from "./field-path/merge.ts";
export { deleteFieldPath, setFieldPath } from "./field-path/set.ts";
export { getBool, getInteger, getNumber, getString, getStringArray, getStringObject } from "./field-path/typed.ts";
export { expandWildcards } from "./field-path/wildcards.ts";
export { ConnectionDetailError, ConnectionDetails, extractConnectionDetails } from "./observed/connection-details.ts";
export {
  conditionStatus,
  isReady,
  isReadyUnobserved,
  ReadinessError,
  type ReadinessSource,
} from "./observed/readiness.ts";
export { closest } from "./reader/closest.ts";
export { CompositionError, type Finding } from "./reader/composition-error.ts";
export {
  compileGuard,
  type Guard,
  type GuardInput,
  type GuardOutcome,
  type GuardState,
} from "./schema/cel/guard.ts";
export type { TemplatesSpec } from "./templates/compile-spec.ts";
export { type CompiledTemplates, compileTemplates } from "./templates/compile-templates.ts";
export type { RenderedTemplate, RenderedTemplates, TemplateWrite } from "./templates/rendering.ts";
export { TemplateError } from "./templates/template-error.ts";
export { compileCombine } from "./transform/combine.ts";
export { compileTransforms } from "./transform/compile-transforms.ts";
export { compileFormat } from "./transform/text/compile-format.ts";
export { TransformError } from "./transform/text/transform-error.ts";
export { Float64, float64, type GoValue, goKind } from "./values/go-value.ts";
export { type WrongText, wrongTexts } from "./values/metadata-texts.ts";
