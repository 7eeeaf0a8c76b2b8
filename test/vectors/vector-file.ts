import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { float64 } from "@xfn/composition";
import { isObject, type JsonObject } from "@xfn/json";

/** A recorded case: its input in the fields of its file, and the reference's outcome. */
export interface VectorCase extends JsonObject {
  name: string;
  group: string;
}

/** The expected outcome: a value, or an error with any message. */
export type Expected = { output: unknown } | { error: string };

/** The extensions of files of vectors. Unpacked, the longest has less than 2 MB. */
const ENDING = /\.json(?:\.gz|\.zst)?$/;
const MAX_BYTES = 256 * 1024 * 1024;
const MAX_INT64 = 2n ** 63n - 1n;
const MIN_INT64 = -(2n ** 63n);

/** Whether a file name is one of vectors. */
export function isVectorFile(name: string): boolean {
  return ENDING.test(name);
}

/** `patches` for `patches.json`, compressed or not. */
export function vectorFileKind(name: string): string {
  return basename(name).replace(ENDING, "");
}

/** The cases of one file. */
export function readVectorFile(path: string): VectorCase[] {
  const bytes = readFileSync(path);
  const unpacked = path.endsWith(".gz")
    ? gunzipSync(bytes, { maxOutputLength: MAX_BYTES })
    : path.endsWith(".zst")
      ? zstdDecompressSync(bytes, { maxOutputLength: MAX_BYTES })
      : bytes;
  const file = parseLossless(unpacked.toString("utf8"));
  const cases = isObject(file) ? file["cases"] : undefined;
  if (!Array.isArray(cases)) throw new Error(`${path}: has no list of cases`);
  return cases.map((one, index) => {
    if (!isObject(one) || typeof one["name"] !== "string" || typeof one["group"] !== "string") {
      throw new Error(`${path}: cases[${index}] has no name and group`);
    }
    return one as VectorCase;
  });
}

/**
 * Parses JSON with Go's two types of numbers: a literal without `.` and exponent is an int64, any other a float64. A
 * float64 with an integral value becomes a `Float64`.
 */
export function parseLossless(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown, context?: { source?: string }): unknown => {
    if (typeof value !== "number" || context?.source === undefined) return value;
    return readNumber(context.source);
  });
}

function readNumber(literal: string): unknown {
  if (!/^-?[0-9]+$/.test(literal)) return float64(Number(literal));
  const integer = BigInt(literal);
  if (integer > MAX_INT64 || integer < MIN_INT64) return float64(Number(literal));
  const number = Number(integer);
  return Number.isSafeInteger(number) ? number : integer;
}

/** The recorded outcome of a case. */
export function recorded(vector: VectorCase): Expected {
  const { error } = vector;
  if (error !== undefined) return { error: String(error) };
  if (!Object.hasOwn(vector, "output")) throw new Error(`${vector.name}: has neither output nor error`);
  return { output: vector["output"] };
}
