import { parseDuration, parseQuantity, quantityToBytes, quantityToCores } from "@xfn/units";
import { usageError } from "../errors/cli-error.ts";

// Node's timers hold no more.
const MAX_MS = 2 ** 31 - 1;

/** Milliseconds of an option such as `1m30s`. @throws CliError `Usage` */
export function durationOption(option: string, text: string): number {
  const ms = parsed(option, text, parseDuration);
  if (ms <= 0 || ms > MAX_MS)
    throw usageError(`${option} must be longer than nothing and at most 24 days, not ${JSON.stringify(text)}`);
  return ms;
}

/** Bytes of an option such as `64Mi`. @throws CliError `Usage` */
export function memoryOption(option: string, text: string): number {
  return positive(
    option,
    text,
    parsed(option, text, (value) => quantityToBytes(parseQuantity(value))),
  );
}

/** Cores of an option such as `250m`. @throws CliError `Usage` */
export function cpuOption(option: string, text: string): number {
  return positive(
    option,
    text,
    parsed(option, text, (value) => quantityToCores(parseQuantity(value))),
  );
}

function positive(option: string, text: string, value: number): number {
  if (!(value > 0)) throw usageError(`${option} must be above zero, not ${JSON.stringify(text)}`);
  return value;
}

function parsed(option: string, text: string, parse: (text: string) => number): number {
  try {
    return parse(text);
  } catch (error) {
    throw usageError(`${option}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
