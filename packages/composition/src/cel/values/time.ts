import { isDate } from "../../schema/structural/formats.ts";
import { Duration, Failure, Timestamp } from "./value.ts";

export const NANOS_PER_SECOND = 1_000_000_000n;

const UNITS: ReadonlyMap<string, bigint> = new Map([
  ["ns", 1n],
  ["us", 1000n],
  ["µs", 1000n],
  ["μs", 1000n],
  ["ms", 1_000_000n],
  ["s", NANOS_PER_SECOND],
  ["m", 60n * NANOS_PER_SECOND],
  ["h", 3600n * NANOS_PER_SECOND],
]);

// An int64 of nanoseconds, as Go's durations are.
const MAX_NANOS = 2n ** 63n - 1n;

/** Parses a duration in Go's syntax, such as `1h2.5m`. Undefined if the text is not one. */
export function parseGoDuration(text: string): Duration | undefined {
  const sign = text.startsWith("-") ? -1n : 1n;
  const rest = text.replace(/^[-+]/, "");
  if (rest === "0") return new Duration(0n);
  if (!/^(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/.test(rest)) return undefined;
  let nanos = 0n;
  for (const [, whole = "", fraction = "", unit = ""] of rest.matchAll(/(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/g)) {
    const scale = UNITS.get(unit) ?? 1n;
    // Further digits are below a nanosecond.
    const digits = fraction.slice(0, 18);
    nanos += BigInt(whole === "" ? "0" : whole) * scale;
    if (digits !== "") nanos += (BigInt(digits) * scale) / 10n ** BigInt(digits.length);
    if (nanos > MAX_NANOS) return undefined;
  }
  return new Duration(sign * nanos);
}

/** Checks the range of a duration. */
export function duration(nanos: bigint): Duration | Failure {
  if (nanos > MAX_NANOS || nanos < -MAX_NANOS - 1n) return new Failure("integer overflow");
  return new Duration(nanos);
}

/** Prints a duration as CEL does: in seconds, `90.5s`. */
export function printDuration({ nanos }: Duration): string {
  const sign = nanos < 0n ? "-" : "";
  const size = nanos < 0n ? -nanos : nanos;
  const fraction = (size % NANOS_PER_SECOND).toString().padStart(9, "0").replace(/0+$/, "");
  return `${sign}${size / NANOS_PER_SECOND}${fraction === "" ? "" : `.${fraction}`}s`;
}

const MIN_TIMESTAMP = -62_135_596_800n * NANOS_PER_SECOND;
const MAX_TIMESTAMP = 253_402_300_800n * NANOS_PER_SECOND;

/** Checks the range of a timestamp: the years 1 to 9999. */
export function timestamp(nanos: bigint): Timestamp | Failure {
  if (nanos < MIN_TIMESTAMP || nanos >= MAX_TIMESTAMP) return new Failure("timestamp overflow");
  return new Timestamp(nanos);
}

/** Parses a date-time of RFC 3339. Undefined if the text is not one. */
export function parseTimestamp(text: string): Timestamp | undefined {
  const parts = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:[.,](\d+))?([Zz]|[+-]\d{2}:\d{2})$/.exec(text);
  if (parts === null) return undefined;
  const [, date = "", hour = "", minute = "", second = "", fraction = "", zone = ""] = parts;
  const day = parseDate(date);
  if (day === undefined || hour > "23" || minute > "59" || second > "59") return undefined;
  const [zoneHours = 0, zoneMinutes = 0] = zone.length === 1 ? [] : zone.slice(1).split(":").map(Number);
  if (zoneHours > 24 || zoneMinutes > 60) return undefined;
  const offset = (zone.startsWith("-") ? -1 : 1) * (zoneHours * 60 + zoneMinutes);
  const seconds = (Number(hour) * 60 + Number(minute) - offset) * 60 + Number(second);
  return new Timestamp(day.nanos + BigInt(seconds) * NANOS_PER_SECOND + BigInt(fraction.slice(0, 9).padEnd(9, "0")));
}

/** Parses a full-date of RFC 3339. Undefined if the calendar does not have it. */
export function parseDate(text: string): Timestamp | undefined {
  return isDate(text) ? new Timestamp(BigInt(Date.parse(`${text}T00:00:00Z`)) * 1_000_000n) : undefined;
}

/** Prints a timestamp in UTC. */
export function printTimestamp({ nanos }: Timestamp): string {
  const seconds = floorDivide(nanos, NANOS_PER_SECOND);
  const fraction = (nanos - seconds * NANOS_PER_SECOND).toString().padStart(9, "0").replace(/0+$/, "");
  const text = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  return `${text}${fraction === "" ? "" : `.${fraction}`}Z`;
}

/** Divides and rounds down, also below zero. */
export function floorDivide(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value % by < 0n ? quotient - 1n : quotient;
}
