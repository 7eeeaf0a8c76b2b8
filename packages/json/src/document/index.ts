// Reading any YAML or JSON file that a person wrote, and printing YAML.
export { printYaml } from "../yaml/print.ts";
export { listItems, unwrapLists } from "./lists.ts";
export { parseTrustedJson } from "./parse-trusted-json.ts";
export { type ParsedDocument, parseJsonDocument, type ReadOptions, readDocuments } from "./read.ts";
