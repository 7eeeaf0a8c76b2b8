import { readFileSync } from "node:fs";
import { isObject, type JsonObject } from "@xfn/json";

/**
 * Reads a tsconfig.json, which is JSON with comments and trailing commas. Empty if it cannot be read: tsc says why.
 * The caller knows that it is a regular file.
 */
export function readSettings(path: string): JsonObject {
  try {
    // A string or comment without end is one, too. Otherwise each start of one would begin another search for the end.
    const text = readFileSync(path, "utf8")
      .replace(/("(?:\\.|[^"\\])*"?)|\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)/g, "$1")
      .replace(/("(?:\\.|[^"\\])*"?)|,(?=\s*[}\]])/g, "$1");
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
