import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import { printYaml } from "@xfn/json/document";
import { foldLines } from "./fold-lines.ts";

const MIN_INT64 = -(2n ** 63n);
const MAX_UINT64 = 2n ** 64n - 1n;

/**
 * Prints YAML byte for byte as the Go printers of `crossplane render`: long lines are folded, and doubles have the
 * digits that they get on their way through Struct and JSON.
 */
export function printGoYaml(document: JsonObject): string {
  const texts: string[] = [];
  const mark = `number-${crypto.randomUUID()}-`;
  const marked = mapNumbers(document, (value) => {
    const number = goNumber(value);
    if (typeof number !== "string") return number;
    texts.push(number);
    return `${mark}${texts.length - 1}.`;
  });
  const printed = printYaml(marked);
  const restored =
    texts.length === 0
      ? printed
      : printed.replace(new RegExp(`${mark}(\\d+)\\.`, "g"), (_, index: string) => texts[Number(index)] ?? "");
  return foldLines(restored);
}

function mapNumbers(value: JsonValue, map: (value: number) => JsonValue): JsonValue {
  if (typeof value === "number") return map(value);
  if (Array.isArray(value)) return value.map((one) => mapNumbers(one, map));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, mapNumbers(field, map)]));
}

/** A number that prints as it is, or its text. */
function goNumber(value: number): JsonValue {
  if (Number.isSafeInteger(value)) return value;
  if (Number.isInteger(value) && Math.abs(value) < 1e21) {
    // As in Go, the fewest digits that identify the double, and zeros.
    const integer = BigInt(String(value));
    if (integer >= MIN_INT64 && integer <= MAX_UINT64) return integer;
  }
  const text = goFloat(value);
  return text === String(value) && !text.includes("e") ? value : text;
}

/** Go's format `g` with the fewest digits. */
function goFloat(value: number): string {
  const [digits = "", exponent = "0"] = value.toExponential().split("e");
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(value);
  const sign = power < 0 ? "-" : "+";
  return `${digits}e${sign}${String(Math.abs(power)).padStart(2, "0")}`;
}
