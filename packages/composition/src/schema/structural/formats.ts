import { tryParseDuration } from "@xfn/units";
import { parseCidr, parseIp } from "./ip-address.ts";

// The formats that Kubernetes checks; it ignores all others.
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema

/** Whether a text has a format. Undefined if Kubernetes does not check the format. */
export function formatCheck(format: string): ((text: string) => boolean) | undefined {
  const name = format.replaceAll("-", "");
  return FORMATS.get(name);
}

const FORMATS: ReadonlyMap<string, (text: string) => boolean> = new Map<string, (text: string) => boolean>([
  ["bsonobjectid", pattern(/^[0-9a-fA-F]{24}$/)],
  ["uri", isUri],
  ["email", pattern(/^[^\s@<>()[\]\\,;:"]{1,64}@[^\s@<>()[\]\\,;:"]{1,255}$/)],
  ["hostname", isHostname],
  ["ipv4", (text) => parseIp(text)?.length === 4],
  ["ipv6", (text) => text.includes(":") && parseIp(text) !== undefined],
  ["cidr", (text) => parseCidr(text) !== undefined],
  ["mac", pattern(/^([0-9a-fA-F]{2}([:-])([0-9a-fA-F]{2}\2){4}[0-9a-fA-F]{2}|([0-9a-fA-F]{4}\.){2}[0-9a-fA-F]{4})$/)],
  ["uuid", pattern(/^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i)],
  ["uuid3", pattern(/^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i)],
  ["uuid4", pattern(/^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i)],
  ["uuid5", pattern(/^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i)],
  ["isbn", (text) => isIsbn10(text) || isIsbn13(text)],
  ["isbn10", isIsbn10],
  ["isbn13", isIsbn13],
  ["creditcard", isCreditCard],
  ["ssn", pattern(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/)],
  ["hexcolor", pattern(/^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/)],
  ["rgbcolor", isRgbColor],
  ["byte", pattern(/^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/)],
  ["password", () => true],
  ["date", isDate],
  ["duration", isDuration],
  ["datetime", isDateTime],
]);

function pattern(expression: RegExp): (text: string) => boolean {
  return (text) => expression.test(text);
}

/** A full-date of RFC 3339 that exists in the calendar. */
export function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}

/** A date-time of RFC 3339 without leap seconds. */
function isDateTime(text: string): boolean {
  const parts = /^(.{10})t(\d{2}):(\d{2}):(\d{2})(\.\d+)?(z|[+-]\d{2}:\d{2})$/i.exec(text);
  if (parts === null) return false;
  const [, date = "", hour = "", minute = "", second = ""] = parts;
  return isDate(date) && hour <= "23" && minute <= "59" && second <= "59";
}

/** A duration in Go's syntax, or a number with a unit in words (`3 days`). */
function isDuration(text: string): boolean {
  if (
    /^\s*\d+\s*(ns|nanos?|nanoseconds?|us|µs|micros?|microseconds?|ms|millis?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?)\s*$/.test(
      text,
    )
  ) {
    return true;
  }
  return tryParseDuration(text) !== undefined;
}

/** An absolute URI or an absolute path. */
function isUri(text: string): boolean {
  if (/[\u0000-\u0020\u007f]/.test(text) || /%(?![0-9a-fA-F]{2})/.test(text)) return false;
  if (text.startsWith("/")) return true;
  return /^[a-zA-Z][a-zA-Z0-9+.-]*:/.test(text) && (!/^[^:]*:\/\//.test(text) || URL.canParse(text));
}

function isHostname(text: string): boolean {
  if (text.length > 255) return false;
  const labels = text.split(".");
  const last = labels.at(-1) ?? "";
  if (labels.length > 1 && !/^[a-zA-Z\p{L}]{2,63}$/u.test(last)) return false;
  return labels.every(
    (label) =>
      label.length <= 63 &&
      /^[a-zA-Z0-9\p{S}\p{L}](.*[a-zA-Z0-9\p{S}\p{L}])?$/u.test(label) &&
      /^[a-zA-Z0-9\p{S}\p{L}-]*$/u.test(label),
  );
}

function isRgbColor(text: string): boolean {
  const parts = /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/.exec(text);
  return parts?.slice(1).every((part) => Number(part) <= 255) ?? false;
}

function isIsbn10(text: string): boolean {
  const digits = text.replaceAll(/[\s-]/g, "");
  if (!/^\d{9}[\dX]$/.test(digits)) return false;
  const sum = [...digits].reduce(
    (total, digit, index) => total + (index + 1) * (digit === "X" ? 10 : Number(digit)),
    0,
  );
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replaceAll(/[\s-]/g, "");
  if (!/^\d{13}$/.test(digits)) return false;
  const sum = [...digits].reduce((total, digit, index) => total + (index % 2 === 0 ? 1 : 3) * Number(digit), 0);
  return sum % 10 === 0;
}

function isCreditCard(text: string): boolean {
  const digits = text.replaceAll(/[^0-9]/g, "");
  if (
    !/^(4\d{12}(\d{3})?|5[1-5]\d{14}|6(011|5\d\d)\d{12}|3[47]\d{13}|3(0[0-5]|[68]\d)\d{11}|(2131|1800|35\d{3})\d{11})$/.test(
      digits,
    )
  ) {
    return false;
  }
  // The Luhn checksum.
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}
