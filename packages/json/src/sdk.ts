// Exports for the SDK. Each call of an unbundled function loads only these files, not the whole package.
export { DocumentError, type Issue, UNNAMED_ISSUE } from "./text/document-error.ts";
export { MAX_ISSUES, MAX_TEXT_BYTES, resolveLimits } from "./text/limits.ts";
export { positionsInJson } from "./text/parse-json.ts";
export { printJson } from "./text/print-json.ts";
export { readAsJson } from "./text/read-json.ts";
export { decodeText, type Position } from "./text/text.ts";
export { formatPath, isObject, type JsonObject, type JsonPath, type JsonValue, kindOf } from "./value/json-value.ts";
