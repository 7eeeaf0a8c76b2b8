// Reading and printing any YAML or JSON file that a person wrote. Nothing here needs Node.
export { DocumentError, type DocumentErrorCode, describeIssue, type Issue } from "./errors.ts";
export { nativeJson } from "./native-json.ts";
export { parseTrustedJson } from "./parse-trusted-json.ts";
export { printJson } from "./print-json.ts";
export { type ParsedDocument, parseJsonDocument, type ReadOptions, readDocuments } from "./read.ts";
export type { Position } from "./text.ts";
export { printYaml } from "./yaml/print.ts";
