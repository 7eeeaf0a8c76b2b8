import { Float64, float64, type GoValue, goKind } from "@xfn/composition";
import { isObject } from "@xfn/json";

// Values that carry their Go type: {"t": "int64", "v": "7"}. Bytes that are not UTF-8 are {"t": "string", "b64": ...};
// the engine represents each byte of invalid UTF-8 as a lone surrogate, U+DC80 to U+DCFF.

const FLOATS: ReadonlyMap<string, number> = new Map([
  ["NaN", Number.NaN],
  ["+Inf", Number.POSITIVE_INFINITY],
  ["-Inf", Number.NEGATIVE_INFINITY],
]);

/** Converts a typed value of a vector to the engine's value. */
export function fromTyped(typed: unknown): GoValue {
  if (!isObject(typed)) throw new Error("a typed value is an object");
  const { t, v } = typed;
  switch (t) {
    case "null":
      return null;
    case "bool":
      return v === true;
    case "string":
      return typed["b64"] === undefined ? String(v) : bytesToText(Buffer.from(String(typed["b64"]), "base64"));
    case "int64": {
      const integer = BigInt(String(v));
      return Number.isSafeInteger(Number(integer)) ? Number(integer) : integer;
    }
    case "float64":
      return float64(FLOATS.get(String(v)) ?? Number(v));
    case "array":
      return (v as unknown[]).map(fromTyped) as GoValue;
    case "object":
      return Object.fromEntries(Object.entries(v as object).map(([key, one]) => [key, fromTyped(one)])) as GoValue;
    default:
      throw new Error(`no type ${String(t)}`);
  }
}

/** Shows the types of a value, for comparison and printing. */
export function toTyped(value: GoValue): unknown {
  const kind = goKind(value);
  if (kind === "null") return { t: "null" };
  if (value instanceof Float64) return { t: "float64", v: printFloat(value.value) };
  if (kind === "float64") return { t: "float64", v: printFloat(Number(value)) };
  if (kind === "int64") return { t: "int64", v: String(value) };
  if (Array.isArray(value)) return { t: "array", v: value.map(toTyped) };
  if (isObject(value)) {
    return { t: "object", v: Object.fromEntries(Object.entries(value).map(([key, one]) => [key, toTyped(one)])) };
  }
  if (typeof value !== "string") return { t: kind, v: value };
  return value.isWellFormed() ? { t: "string", v: value } : { t: "string", b64: textToBytes(value).toString("base64") };
}

function printFloat(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  return Object.is(value, -0) ? "-0" : String(value);
}

/** Decodes bytes, with lone surrogates for invalid UTF-8. */
export function bytesToText(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; ) {
    const length = [1, 2, 3, 4].find((count) => isUtf8(bytes.subarray(at, at + count)) && at + count <= bytes.length);
    if (length === undefined) text += String.fromCharCode(0xdc00 + (bytes[at++] as number));
    else {
      text += Buffer.from(bytes.subarray(at, at + length)).toString("utf8");
      at += length;
    }
  }
  return text;
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Encodes such a text. */
export function textToBytes(text: string): Buffer {
  const parts: Buffer[] = [];
  for (const character of text) {
    const code = character.codePointAt(0) as number;
    parts.push(code >= 0xdc80 && code <= 0xdcff ? Buffer.of(code - 0xdc00) : Buffer.from(character, "utf8"));
  }
  return Buffer.concat(parts);
}
