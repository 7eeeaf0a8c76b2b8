// Turns definitions into TypeScript interfaces. Does not need Node.js.
export { generateTypes } from "./generate.ts";
