import { divideUp, NANOS_PER_UNIT, tryParseQuantity } from "./quantity.ts";

// Limits of memory and CPU as the runner contract writes them: positive, and exact as a JavaScript integer.

/** Bytes of a memory limit, rounded up; undefined if the text is not a positive quantity below 8 PiB. */
export function parseBytes(text: string): number | undefined {
  return positiveInteger(text, NANOS_PER_UNIT);
}

/** Thousandths of a core of a CPU limit, rounded up; undefined if the text is not a positive quantity, or too large. */
export function parseMillicores(text: string): number | undefined {
  return positiveInteger(text, NANOS_PER_UNIT / 1000n);
}

function positiveInteger(text: string, nanos: bigint): number | undefined {
  const quantity = tryParseQuantity(text);
  if (quantity === undefined) return undefined;
  const value = divideUp(quantity.nanos, nanos);
  return value > 0n && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : undefined;
}

/** Prints bytes as a quantity: a plain integer, rounded up. */
export function formatBytes(bytes: number): string {
  return String(Math.ceil(bytes));
}

/** Prints cores as a quantity: thousandths, rounded up, the finest CPU limit in Kubernetes. */
export function formatCores(cores: number): string {
  // 0.07 * 1000 is slightly above 70; without toFixed it would round up to 71.
  return `${Math.ceil(Number((cores * 1000).toFixed(6)))}m`;
}
