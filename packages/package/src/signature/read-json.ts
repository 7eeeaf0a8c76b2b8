import { isObject, type JsonObject } from "@xfn/json";

/** The object that bytes contain as JSON; an empty one for other bytes. */
export function readJson(bytes: Uint8Array): JsonObject {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
