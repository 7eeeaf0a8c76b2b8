// Reading and printing any YAML or JSON file that a person wrote. Nothing here needs Node.

export { listItems, unwrapLists } from "./document/lists.ts";
export { parseTrustedJson } from "./document/parse-trusted-json.ts";
export { type ParsedDocument, parseJsonDocument, type ReadOptions, readDocuments } from "./document/read.ts";
export { DocumentError, type DocumentErrorCode, describeIssue, type Issue } from "./json/errors.ts";
export { nativeJson } from "./json/native-json.ts";
export { printJson } from "./json/print-json.ts";
export type { Position } from "./json/text.ts";
export { escapeUnsafe } from "./json/unsafe-text.ts";
export { printYaml } from "./yaml/print.ts";
