/** A text that is not a Go duration, the form that Kubernetes uses for durations. */
export class DurationError extends Error {
  readonly code = "InvalidDuration";
  readonly retryable = false;

  constructor(text: string, reason: string) {
    super(
      `${JSON.stringify(text.slice(0, MAX_LENGTH))} is not a duration: ${reason}. Write for example 500ms, 10s or 1m30s`,
    );
    this.name = "DurationError";
  }
}

/** A real duration has a handful of parts; more is an attack on the loop below. */
const MAX_LENGTH = 128;

/** Go keeps durations in a signed 64-bit count of nanoseconds, about 292 years. */
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
 * @returns milliseconds, which may be fractional or negative.
 * @throws {DurationError} for anything else.
 * @see https://pkg.go.dev/time#ParseDuration
 */
export function parseDuration(text: string): number {
  if (text.length > MAX_LENGTH) throw new DurationError(text, `it is longer than ${MAX_LENGTH} characters`);
  const negative = text.startsWith("-");
  const rest = negative || text.startsWith("+") ? text.slice(1) : text;
  if (rest === "0") return 0;
  if (rest === "") throw new DurationError(text, "it is empty");

  let nanos = 0n;
  PART.lastIndex = 0;
  while (PART.lastIndex < rest.length) {
    const [, whole = "", , fraction = "", unit = ""] = PART.exec(rest) ?? [];
    if (whole === "" && fraction === "") throw new DurationError(text, "a number is missing");
    if (unit === "") throw new DurationError(text, `${whole} has no unit`);
    const factor = NANOS.get(unit);
    if (factor === undefined) throw new DurationError(text, `${JSON.stringify(unit)} is not a unit`);
    nanos += BigInt(`0${whole}`) * factor;
    if (fraction !== "") nanos += (BigInt(fraction) * factor) / 10n ** BigInt(fraction.length);
    if (nanos > MAX_NANOS) throw new DurationError(text, "it is longer than 292 years");
  }
  const ms = Number(nanos) / 1e6;
  return negative ? -ms : ms;
}
