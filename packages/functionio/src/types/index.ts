// Definitions in, TypeScript interfaces out. Nothing here needs Node.
export { generateTypes } from "./generate.ts";
