// Reading and printing JSON texts.
export { type ResolvedLimits, resolveLimits } from "./limits.ts";
export { nativeJson } from "./native-json.ts";
export { positionsInJson } from "./parse-json.ts";
export { printJson } from "./print-json.ts";
export { readAsJson } from "./read-json.ts";
export { decodeText, type Position } from "./text.ts";
export { escapeUnsafe } from "./unsafe-text.ts";
