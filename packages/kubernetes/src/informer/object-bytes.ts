import type { JsonValue } from "@xfn/json";

// An object or an array with its header, and a field or an element.
const NODE_BYTES = 48;
const FIELD_BYTES = 16;

/** The memory of a JSON value, estimated: V8 keeps one byte for each character of most texts. */
export function objectBytes(value: JsonValue): number {
  let bytes = 0;
  // A stack instead of recursion: a server accepts objects of 10,000 levels.
  const rest: (JsonValue | undefined)[] = [value];
  while (rest.length > 0) {
    const one = rest.pop();
    if (typeof one === "string") bytes += FIELD_BYTES + one.length;
    else if (typeof one !== "object" || one === null) bytes += FIELD_BYTES;
    else if (Array.isArray(one)) {
      bytes += NODE_BYTES;
      for (const item of one) rest.push(item);
    } else {
      bytes += NODE_BYTES;
      for (const name of Object.keys(one)) {
        bytes += name.length;
        rest.push(one[name]);
      }
    }
  }
  return bytes;
}
