import { floorDivide, NANOS_PER_SECOND } from "../values/time.ts";
import { type Duration, Failure, type Timestamp } from "../values/value.ts";
import type { Define } from "./define.ts";

const MINUTE = 60n * NANOS_PER_SECOND;
const HOUR = 60n * MINUTE;
const NANOS_PER_MS = 1_000_000n;

/** The parts of timestamps and durations, such as `getHours`. */
export function defineDates(define: Define): void {
  const part = (name: string, read: (local: Date) => number): void => {
    define(name, "timestamp.() int", (time: Timestamp) => BigInt(read(new Date(msOf(time)))));
    define(name, "timestamp.(string) int", (time: Timestamp, zone: string) => {
      const offset = offsetOf(msOf(time), zone);
      return offset === undefined ? new Failure("invalid time zone") : BigInt(read(new Date(msOf(time) + offset)));
    });
  };
  part("getFullYear", (local) => local.getUTCFullYear());
  part("getMonth", (local) => local.getUTCMonth());
  part("getDayOfYear", (local) => Math.floor((local.getTime() - startOfYear(local)) / 86_400_000));
  part("getDayOfMonth", (local) => local.getUTCDate() - 1);
  part("getDate", (local) => local.getUTCDate());
  part("getDayOfWeek", (local) => local.getUTCDay());
  part("getHours", (local) => local.getUTCHours());
  part("getMinutes", (local) => local.getUTCMinutes());
  part("getSeconds", (local) => local.getUTCSeconds());
  part("getMilliseconds", (local) => local.getUTCMilliseconds());
  const whole = (name: string, unit: bigint): void =>
    define(name, "duration.() int", ({ nanos }: Duration) => nanos / unit);
  whole("getHours", HOUR);
  whole("getMinutes", MINUTE);
  whole("getSeconds", NANOS_PER_SECOND);
  whole("getMilliseconds", NANOS_PER_MS);
}

function msOf({ nanos }: Timestamp): number {
  return Number(floorDivide(nanos, NANOS_PER_MS));
}

function startOfYear(local: Date): number {
  const start = new Date(0);
  start.setUTCFullYear(local.getUTCFullYear(), 0, 1);
  return start.getTime();
}

/** The offset of a time zone in milliseconds: `Europe/Berlin`, or `+05:30` and `-8:00`. */
function offsetOf(ms: number, zone: string): number | undefined {
  const [, sign, hours, minutes] = /^([-+]?)(\d{1,2}):(\d{2})$/.exec(zone) ?? [];
  if (hours !== undefined) return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
  if (zone === "" || zone === "UTC") return 0;
  if (!/^[A-Za-z0-9_+/-]+$/.test(zone)) return undefined;
  try {
    return offsetByName(ms, zone);
  } catch {
    // The platform does not know the zone.
    return undefined;
  }
}

function offsetByName(ms: number, zone: string): number {
  const parts = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    era: "short",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  }).formatToParts(ms);
  const read = (type: string): number => Number(parts.find((one) => one.type === type)?.value);
  const local = new Date(0);
  local.setUTCFullYear(read("year"), read("month") - 1, read("day"));
  local.setUTCHours(read("hour"), read("minute"), read("second"));
  return local.getTime() - Math.floor(ms / 1000) * 1000;
}
