// Kubernetes quantities, as far as limits need them (k8s.io/apimachinery/pkg/api/resource): a decimal number with a binary
// suffix (Ki to Ei), a decimal one (n, u, m, k, M to E) or an exponent.

const QUANTITY = /^\+?(\d{0,30})(?:\.(\d{0,30}))?(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?\d{1,3})?$/;

const BINARY = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };

/**
 * Reads a quantity that is to be more than nothing.
 *
 * @param scale how many of the wanted units make one: 1 for bytes, 1000 for thousandths of a core
 * @returns the number of units, rounded up as Kubernetes rounds; undefined if the text is no quantity, is not positive, or is more
 *   than a number holds exactly
 */
export function parseQuantity(text: string, scale: number): number | undefined {
  const [, whole = "", fraction = "", suffix = ""] = QUANTITY.exec(text) ?? [];
  if (whole === "" && fraction === "") return undefined;
  let numerator = BigInt(whole + fraction) * BigInt(scale);
  let denominator = 10n ** BigInt(fraction.length);
  const binary = BINARY.indexOf(suffix);
  if (binary >= 0) {
    numerator *= 1024n ** BigInt(binary + 1);
  } else {
    const exponent = /^[eE][+-]?\d/.test(suffix) ? Number(suffix.slice(1)) : (DECIMAL[suffix] ?? 0);
    if (exponent >= 0) numerator *= 10n ** BigInt(exponent);
    else denominator *= 10n ** BigInt(-exponent);
  }
  const rounded = (numerator + denominator - 1n) / denominator;
  return rounded > 0n && rounded <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(rounded) : undefined;
}

/** Bytes as a quantity: a plain integer, rounded up. */
export function memoryQuantity(bytes: number): string {
  return String(Math.ceil(bytes));
}

/** Cores as a quantity: thousandths, rounded up, which is as fine as Kubernetes takes them. */
export function cpuQuantity(cores: number): string {
  // 0.07 * 1000 is a little over 70: rounding up must not make 71 of it.
  return `${Math.ceil(Number((cores * 1000).toFixed(6)))}m`;
}
