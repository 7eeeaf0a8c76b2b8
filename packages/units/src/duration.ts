import { CodedError } from "@xfn/errors";
/** A text that is not a Go duration, the form that Kubernetes uses for durations. */
export class DurationError extends CodedError<"InvalidDuration"> {
  override readonly name = "DurationError";

  constructor(text: string, reason: string, options?: ErrorOptions) {
    const shown = JSON.stringify(text.slice(0, MAX_LENGTH));
    super("InvalidDuration", `${shown} is not a duration: ${reason}. Write for example 500ms, 10s or 1m30s`, options);
  }
}

/** The longest delay of a Node.js timer, about 24 days; a longer one fires at once. */
export const MAX_TIMER_MS: number = 2 ** 31 - 1;

/** A duration has a handful of parts. Longer texts only cost time in the loop below. */
const MAX_LENGTH = 128;

/** Go stores durations as a signed 64-bit count of nanoseconds, about 292 years. */
const MAX_NANOS = 2n ** 63n - 1n;

const NANOS: ReadonlyMap<string, bigint> = new Map([
  ["ns", 1n],
  ["us", 1_000n],
  ["\u00b5s", 1_000n], // micro sign
  ["\u03bcs", 1_000n], // Greek mu
  ["ms", 1_000_000n],
  ["s", 1_000_000_000n],
  ["m", 60_000_000_000n],
  ["h", 3_600_000_000_000n],
]);

const PART = /([0-9]*)(?:(\.)([0-9]*))?([^0-9.]*)/y;

/**
 * Parses Go's duration syntax (`time.ParseDuration`): a sequence of decimal numbers with a unit each, such as `300ms`,
 * `-1.5h` or `2h45m`. Units are `ns`, `us`, `ms`, `s`, `m`, `h`; `0` needs none.
 *
 * @returns milliseconds, which can be fractional or negative
 * @throws {DurationError} if the text has another form
 * @see https://pkg.go.dev/time#ParseDuration
 */
export function parseDuration(text: string): number {
  const ms = readDuration(text);
  if (typeof ms === "string") throw new DurationError(text, ms);
  return ms;
}

/** Like {@link parseDuration}, but returns undefined for a text that is not a duration. */
export function tryParseDuration(text: string): number | undefined {
  const ms = readDuration(text);
  return typeof ms === "string" ? undefined : ms;
}

/** Milliseconds, or the reason why the text is not a duration. */
function readDuration(text: string): number | string {
  if (text.length > MAX_LENGTH) return `it is longer than ${MAX_LENGTH} characters`;
  const negative = text.startsWith("-");
  const rest = negative || text.startsWith("+") ? text.slice(1) : text;
  if (rest === "0") return 0;
  if (rest === "") return "it is empty";

  let nanos = 0n;
  PART.lastIndex = 0;
  while (PART.lastIndex < rest.length) {
    const [, whole = "", , fraction = "", unit = ""] = PART.exec(rest) ?? [];
    if (whole === "" && fraction === "") return "a number is missing";
    if (unit === "") return `${whole} has no unit`;
    const factor = NANOS.get(unit);
    if (factor === undefined) return `${JSON.stringify(unit)} is not a unit`;
    nanos += BigInt(`0${whole}`) * factor;
    if (fraction !== "") nanos += (BigInt(fraction) * factor) / 10n ** BigInt(fraction.length);
    if (nanos > MAX_NANOS) return "it is longer than 292 years";
  }
  const ms = Number(nanos) / 1e6;
  return negative ? -ms : ms;
}

/** Prints milliseconds for people: `1500 ms`, `30 s`. */
export function formatDuration(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`;
}
