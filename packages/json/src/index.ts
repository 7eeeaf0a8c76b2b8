// JSON values, and the errors and limits of their readers. Nothing here needs Node.
export {
  DocumentError,
  type DocumentErrorCode,
  describeIssue,
  describeIssues,
  type Issue,
  UNNAMED_ISSUE,
} from "./text/document-error.ts";
export {
  MAX_ALIAS_VALUES,
  MAX_ALIASES,
  MAX_DEPTH,
  MAX_ISSUES,
  MAX_TEXT_BYTES,
  type ParseLimits,
} from "./text/limits.ts";
export { listAt, objectAt, objectsAt, textAt, textOrEmpty, textsAt, valueAt } from "./value/access.ts";
export { canonicalJson } from "./value/canonical-json.ts";
export { firstDifference } from "./value/first-difference.ts";
export { formatPath, isObject, type JsonObject, type JsonPath, type JsonValue, kindOf } from "./value/json-value.ts";
export type { KubernetesObject, ObjectMeta } from "./value/kubernetes-object.ts";
export { isPatched, mergePatch } from "./value/merge-patch.ts";
export { newObject, setField } from "./value/new-object.ts";
export { sameJson } from "./value/same-json.ts";
