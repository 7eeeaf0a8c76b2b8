import { formatFloat, SHORTEST } from "../../transform/text/go-float.ts";
import {
  floorDivide,
  NANOS_PER_SECOND,
  parseGoDuration,
  parseTimestamp,
  printDuration,
  printTimestamp,
  timestamp,
} from "../values/time.ts";
import { Duration, Failure, int, Timestamp, Uint, uint, type Value } from "../values/value.ts";
import type { Define } from "./define.ts";

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "true", "TRUE", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "false", "FALSE", "False"].map((text) => [text, false] as const),
]);

/** Conversions between types, such as `int("1")`. */
export function defineConversions(define: Define): void {
  const same = (value: Value): Value => value;
  for (const type of ["bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"]) {
    define(type, `(${type}) ${type}`, same);
  }
  define("bool", "(string) bool", (text: string) => BOOLEANS.get(text) ?? wrong("string", "bool"));
  define("bytes", "(string) bytes", (text: string) => Buffer.from(text), "string_to_bytes");
  define("double", "(int) double", (value: bigint) => Number(value));
  define("double", "(uint) double", ({ value }: Uint) => Number(value));
  define("double", "(string) double", doubleOf);
  // cel-go declares it, and refuses every value: google/cel-go, common/types/int.go.
  define("duration", "(int) duration", () => wrong("int", "google.protobuf.Duration"));
  define("duration", "(string) duration", (text: string) => parseGoDuration(text) ?? wrong("string", "duration"));
  define("int", "(double) int", (value: number) => whole(value, int));
  define("int", "(duration) int", ({ nanos }: Duration) => nanos);
  define("int", "(string) int", (text: string) => integerOf(text, int) ?? wrong("string", "int"));
  define("int", "(timestamp) int", ({ nanos }: Timestamp) => floorDivide(nanos, NANOS_PER_SECOND));
  define("int", "(uint) int", ({ value }: Uint) => int(value));
  define("string", "(bool) string", String);
  define("string", "(bytes) string", textOf, "bytes_to_string");
  define("string", "(double) string", printDouble);
  define("string", "(duration) string", printDuration);
  define("string", "(int) string", String);
  define("string", "(timestamp) string", printTimestamp);
  define("string", "(uint) string", ({ value }: Uint) => String(value));
  define("timestamp", "(int) timestamp", (value: bigint) => timestamp(value * NANOS_PER_SECOND));
  define("timestamp", "(string) timestamp", (text: string) => {
    const parsed = parseTimestamp(text);
    return parsed === undefined ? wrong("string", "google.protobuf.Timestamp") : timestamp(parsed.nanos);
  });
  define("uint", "(double) uint", (value: number) => whole(value, uint));
  define("uint", "(int) uint", (value: bigint) => uint(value));
  define("uint", "(string) uint", (text: string) =>
    text.startsWith("-") || text.startsWith("+")
      ? wrong("string", "uint")
      : (integerOf(text, uint) ?? wrong("string", "uint")),
  );
}

function wrong(from: string, to: string): Failure {
  return new Failure(`type conversion error from ${from} to ${to}`);
}

function integerOf<T extends Value>(text: string, check: (value: bigint) => T | Failure): T | undefined {
  if (!/^[-+]?\d{1,20}$/.test(text)) return undefined;
  const value = check(BigInt(text.replace(/^\+/, "")));
  return value instanceof Failure ? undefined : value;
}

function whole<T>(value: number, check: (value: bigint) => T | Failure): T | Failure {
  if (!Number.isFinite(value)) return new Failure("integer overflow");
  return check(BigInt(Math.trunc(value)));
}

function doubleOf(text: string): number | Failure {
  if (/^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/.test(text)) {
    const value = Number(text);
    return Number.isFinite(value) ? value : wrong("string", "double");
  }
  const [, sign, name = ""] = /^([-+]?)(inf|infinity|nan)$/i.exec(text) ?? [];
  if (/^inf/i.test(name)) return sign === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  return name !== "" && sign === "" ? Number.NaN : wrong("string", "double");
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function textOf(bytes: Uint8Array): string | Failure {
  try {
    return UTF8.decode(bytes);
  } catch {
    return new Failure("invalid UTF-8 in bytes, cannot convert to string");
  }
}

/** Prints a double as Go's shortest `%g`. */
export function printDouble(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  return formatFloat(value, "g", SHORTEST);
}
