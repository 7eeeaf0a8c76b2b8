// Turns definitions into TypeScript interfaces. Does not need Node.js.
export type { KindVersion } from "./definition.ts";
export { generateTypes, type TypesOptions } from "./generate.ts";
