import "side-effect";
import type { A } from "type-only";
import { type B, c } from "@scope/named/entry";
export { d } from "re-exported";
export * from "./all.ts";
export type E = import("type-query").E;
/** import { f } from "in-a-comment"; */
export const text = 'import "in-a-string"';
export const load = async (): Promise<[A, B, unknown]> => [c, c, await import("dynamic")];
