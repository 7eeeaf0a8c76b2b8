import { CodedError } from "@xfn/errors";
/**
 * A Kubernetes quantity, exact: a count of nano-units, the finest resolution that Kubernetes has. Kubernetes rounds
 * finer values up to it, away from zero.
 *
 * @see https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
 */
export interface Quantity {
  /** The value times 10^9. */
  readonly nanos: bigint;
}

/** A text that is not a Kubernetes quantity. */
export class QuantityError extends CodedError<"InvalidQuantity"> {
  override readonly name = "QuantityError";

  constructor(text: string, reason: string, options?: ErrorOptions) {
    const shown = JSON.stringify(text.slice(0, MAX_LENGTH));
    super(
      "InvalidQuantity",
      `${shown} is not a Kubernetes quantity: ${reason}. Write for example 250m, 0.5, 64Mi or 1e3`,
      options,
    );
  }
}

/** Real quantities have at most about 30 characters. The bound keeps the big-integer arithmetic below cheap. */
const MAX_LENGTH = 128;

export const NANOS_PER_UNIT = 1_000_000_000n;

/** Kubernetes caps every quantity at 2^63-1 units. */
const MAX_NANOS = (2n ** 63n - 1n) * NANOS_PER_UNIT;

/** Beyond this power of ten, every value that fits MAX_LENGTH is capped or rounds to one nano-unit. */
const MAX_EXPONENT = 160;

const DECIMAL_SUFFIXES: ReadonlyMap<string, number> = new Map([
  ["n", -9],
  ["u", -6],
  ["m", -3],
  ["", 0],
  ["k", 3],
  ["M", 6],
  ["G", 9],
  ["T", 12],
  ["P", 15],
  ["E", 18],
]);

const BINARY_SUFFIXES: ReadonlyMap<string, bigint> = new Map([
  ["Ki", 2n ** 10n],
  ["Mi", 2n ** 20n],
  ["Gi", 2n ** 30n],
  ["Ti", 2n ** 40n],
  ["Pi", 2n ** 50n],
  ["Ei", 2n ** 60n],
]);

// Digits can be missing on either side of the point, or on both: Kubernetes reads a bare suffix as zero.
const FORM = /^([+-]?)([0-9]*)(?:\.([0-9]*))?([A-Za-z]*)([+-]?[0-9]*)$/;

/**
 * Parses a Kubernetes quantity: a decimal number with an optional suffix (`n u m k M G T P E`, `Ki Mi Gi Ti Pi Ei`) or
 * decimal exponent (`e3`, `E-2`).
 *
 * Values finer than a nano-unit are rounded up, away from zero; values above 2^63-1 are capped, as in Kubernetes.
 *
 * @throws {QuantityError} if the text has another form
 */
export function parseQuantity(text: string): Quantity {
  const quantity = readQuantity(text);
  if (typeof quantity === "string") throw new QuantityError(text, quantity);
  return quantity;
}

/** Like {@link parseQuantity}, but returns undefined for a text that is not a quantity. */
export function tryParseQuantity(text: string): Quantity | undefined {
  const quantity = readQuantity(text);
  return typeof quantity === "string" ? undefined : quantity;
}

/** The quantity, or the reason why the text is not one. */
function readQuantity(text: string): Quantity | string {
  if (text === "") return "it is empty";
  if (text.length > MAX_LENGTH) return `it is longer than ${MAX_LENGTH} characters`;
  const match = FORM.exec(text);
  if (match === null) return "it is not a number with a suffix";
  const [, sign, whole = "", fraction = "", letters = "", digits = ""] = match;

  let numerator = BigInt(`0${whole}${fraction}`);
  let exponent = -fraction.length;
  const binary = BINARY_SUFFIXES.get(letters);
  const decimal = DECIMAL_SUFFIXES.get(letters);
  if (digits === "" && binary !== undefined) numerator *= binary;
  else if (digits === "" && decimal !== undefined) exponent += decimal;
  else if ((letters === "e" || letters === "E") && /[0-9]/.test(digits)) {
    if (!isExponent(Number(digits))) return "its exponent does not fit in 32 bits";
    exponent += Number(digits);
  } else return `${JSON.stringify(letters + digits)} is not a suffix`;

  const nanos = scale(numerator, exponent + 9);
  const capped = nanos > MAX_NANOS ? MAX_NANOS : nanos;
  return { nanos: sign === "-" ? -capped : capped };
}

/** `value * 10^exponent`, rounded up. */
function scale(value: bigint, exponent: number): bigint {
  if (value === 0n) return 0n;
  const bounded = Math.max(-MAX_EXPONENT, Math.min(MAX_EXPONENT, exponent));
  return bounded >= 0 ? value * 10n ** BigInt(bounded) : divideUp(value, 10n ** BigInt(-bounded));
}

/** Rounds a positive quotient up; a negative one is truncated. */
export function divideUp(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value > 0n && value % by !== 0n ? quotient + 1n : quotient;
}

/**
 * A quantity of memory in whole bytes, rounded up: a limit of `0.5` is one byte, not zero.
 * Values that a JavaScript integer cannot represent (8 PiB and more) become Number.MAX_SAFE_INTEGER.
 */
export function quantityToBytes(quantity: Quantity): number {
  const bytes = divideUp(quantity.nanos, NANOS_PER_UNIT);
  return Number(bytes > BigInt(Number.MAX_SAFE_INTEGER) ? BigInt(Number.MAX_SAFE_INTEGER) : bytes);
}

/** A quantity of CPU in cores: `250m` is 0.25. Rounded up to thousandths, the finest CPU limit in Kubernetes. */
export function quantityToCores(quantity: Quantity): number {
  // Reading the decimal text rounds once; a division would round again.
  return Number(`${divideUp(quantity.nanos, NANOS_PER_UNIT / 1000n)}e-3`);
}

/**
 * The double that Kubernetes' `AsApproximateFloat64` returns for a quantity, equal to the last bit. Go multiplies the
 * digits by a power of ten, so `0.3` becomes 0.30000000000000004. Returns undefined for a text that is not a quantity.
 */
export function quantityToFloat64(text: string): number | undefined {
  const match = text.length > MAX_LENGTH ? null : FORM.exec(text);
  if (text === "" || match === null) return undefined;
  const [, sign = "", whole = "", fraction = "", letters = "", exponentDigits = ""] = match;
  const suffix = parseSuffix(letters, exponentDigits);
  if (suffix === undefined) return undefined;
  const digits = whole.replace(/^0+/, "") || "0";
  const fast = fastFloat(digits, fraction, suffix);
  // Only Kubernetes' fast path reads a bare suffix as zero.
  if (fast === undefined && whole + fraction === "") return undefined;
  const magnitude = fast ?? exactFloat(digits + fraction, fraction.length, suffix);
  return sign === "-" && magnitude !== 0 ? -magnitude : magnitude;
}

interface Suffix {
  base: 2 | 10;
  exponent: number;
}

function parseSuffix(letters: string, exponentDigits: string): Suffix | undefined {
  if (exponentDigits === "") {
    const binary = BINARY_EXPONENTS.get(letters);
    if (binary !== undefined) return { base: 2, exponent: binary };
    const decimal = DECIMAL_SUFFIXES.get(letters);
    return decimal === undefined ? undefined : { base: 10, exponent: decimal };
  }
  if ((letters !== "e" && letters !== "E") || !/[0-9]/.test(exponentDigits)) return undefined;
  const exponent = Number(exponentDigits);
  return isExponent(exponent) ? { base: 10, exponent } : undefined;
}

/**
 * Whether an exponent fits in 32 bits. Kubernetes truncates a larger one, and reads `1e4294967299` as 1000. A wrong
 * number is worse than an error.
 */
function isExponent(exponent: number): boolean {
  return exponent >= -(2 ** 31) && exponent < 2 ** 31;
}

const BINARY_EXPONENTS: ReadonlyMap<string, number> = new Map(
  [...BINARY_SUFFIXES.keys()].map((suffix, i) => [suffix, 10 * (i + 1)]),
);

/** Kubernetes' fast path for up to 18 digits: an int64 and a power of ten, neither rounded nor capped. */
function fastFloat(digits: string, fraction: string, { base, exponent }: Suffix): number | undefined {
  if (base === 2) {
    if (fraction !== "" || 15 - digits.length - Math.trunc((exponent * 3) / 10) - 1 < 0) return undefined;
    return Number(BigInt(digits) << BigInt(exponent));
  }
  const scale = exponent - fraction.length;
  if (digits.length + fraction.length > 18 || scale < -9) return undefined;
  const value = Number(digits + fraction);
  return scale === 0 ? value : value * powerOfTen(scale);
}

/** Kubernetes' slow path: an arbitrary decimal, rounded up to nano-units, and capped if the suffix is binary. */
function exactFloat(digits: string, places: number, { base, exponent }: Suffix): number {
  const value = BigInt(digits);
  if (value === 0n) return 0;
  if (base === 10) {
    const shift = Math.max(-MAX_SHIFT, Math.min(MAX_SHIFT, exponent)) - places + 9;
    const nanos = shift >= 0 ? value * 10n ** BigInt(shift) : divideUp(value, 10n ** BigInt(-shift));
    return Number(nanos) * powerOfTen(-9);
  }
  const nanos = scale(value << BigInt(exponent), 9 - places);
  return Number(nanos > MAX_NANOS ? MAX_NANOS : nanos) * powerOfTen(-9);
}

/** Beyond this power of ten, every value that fits MAX_LENGTH is an infinite double or one nano-unit. */
const MAX_SHIFT = 500;

/** Go's math.Pow10: exact up to 10^22; above that, the product of two table entries. */
function powerOfTen(exponent: number): number {
  if (exponent < -323) return 0;
  if (exponent > 308) return Number.POSITIVE_INFINITY;
  const high = Number(`1e${32 * Math.trunc(exponent / 32)}`);
  const low = Number(`1e${Math.abs(exponent % 32)}`);
  return exponent < 0 ? high / low : high * low;
}
