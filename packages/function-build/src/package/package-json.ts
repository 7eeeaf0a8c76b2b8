import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { unreadable } from "@xfn/input";
import { isObject, type JsonObject } from "@xfn/json";

/** Larger files are ignored. */
const MAX_BYTES = 1024 * 1024;

/**
 * Reads the `package.json` of a folder. Returns an empty object if there is none, and for JSON of another type.
 *
 * @throws InputError if it is not JSON
 */
export function readPackageJson(dir: string): JsonObject {
  const path = join(dir, "package.json");
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined || !stat.isFile() || stat.size > MAX_BYTES) return {};
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    return isObject(value) ? value : {};
  } catch (error) {
    throw unreadable(path, error);
  }
}
