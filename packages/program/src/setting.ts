import {
  formatDuration,
  MAX_TIMER_MS,
  parseDuration,
  parseQuantity,
  quantityToBytes,
  quantityToCores,
} from "@xfn/units";

/** One setting of a command: a flag, the environment variable of the same name, and how its text is read. */
export interface Setting<T> {
  /** The flag without its dashes: `max-memory`. Of `xfn-runner` the variable is `XFN_RUNNER_MAX_MEMORY`. */
  readonly name: string;
  /** What stands for the value in the help; undefined for a switch. */
  readonly value: string | undefined;
  /** Whether the flag may be given several times; the variable then has several values, separated by commas. */
  readonly many: boolean;
  /** One line for the help. */
  readonly help: string;
  /** The value where nothing is given. */
  readonly standard: T;
  /** The default as the help shows it; nothing for none. */
  readonly shown: string | undefined;
  /** Reads what was given, at least one text. @throws Error that says what is expected */
  readonly read: (texts: readonly string[]) => T;
}

/** Reads one text. @throws Error that says what is expected */
export type Reader<T> = (text: string) => T;

/** A setting with one value, and one for when it is not given. */
export function one<T>(
  name: string,
  value: string,
  help: string,
  read: Reader<T>,
  standard: T,
  shown?: string,
): Setting<T> {
  return { name, value, many: false, help, standard, shown, read: ([text = ""]) => read(text) };
}

/** A setting with one value, or none. */
export function optional<T>(name: string, value: string, help: string, read: Reader<T>): Setting<T | undefined> {
  return { name, value, many: false, help, standard: undefined, shown: undefined, read: ([text = ""]) => read(text) };
}

/** A setting that may be given several times. */
export function many<T>(
  name: string,
  value: string,
  help: string,
  read: Reader<T>,
  standard: readonly T[],
  shown?: string,
): Setting<readonly T[]> {
  return { name, value, many: true, help, standard, shown, read: (texts) => texts.map(read) };
}

/** A setting that is on or off. */
export function toggle(name: string, help: string): Setting<boolean> {
  const read = ([text = ""]: readonly string[]): boolean => {
    if (text === "true" || text === "1") return true;
    if (text === "false" || text === "0") return false;
    throw new Error(`${JSON.stringify(text)} must be true or false`);
  };
  return { name, value: undefined, many: false, help, standard: false, shown: undefined, read };
}

/** The environment variable of a setting of a program. */
export function variableOf(program: string, { name }: Pick<Setting<unknown>, "name">): string {
  return `${program}-${name}`.toUpperCase().replaceAll("-", "_");
}

// ---- readers ----

export const anyText: Reader<string> = (text) => {
  if (text === "") throw new Error("the value must not be empty");
  return text;
};

/** Milliseconds, above zero. */
export const duration: Reader<number> = (text) => positive(text, durationOrNone(text));

/** Milliseconds, zero included. */
export const durationOrNone: Reader<number> = (text) => {
  const ms = parseDuration(text);
  if (ms < 0) throw new Error(`${JSON.stringify(text)} must not be negative`);
  if (ms > MAX_TIMER_MS) throw new Error(`${JSON.stringify(text)} must be at most 24 days`);
  return ms;
};

/** Bytes of a Kubernetes quantity, above zero. */
export const memory: Reader<number> = (text) => positive(text, quantityToBytes(parseQuantity(text)));

/** Cores of a Kubernetes quantity, above zero. */
export const cpu: Reader<number> = (text) => positive(text, quantityToCores(parseQuantity(text)));

/** Bounds the durations that a reader accepts. */
export function durationWithin(
  read: Reader<number>,
  { least = 0, most = MAX_TIMER_MS }: DurationBounds,
): Reader<number> {
  return (text) => {
    const ms = read(text);
    if (ms < least) throw new Error(`${JSON.stringify(text)} must be at least ${formatDuration(least)}`);
    if (ms > most) throw new Error(`${JSON.stringify(text)} must be at most ${formatDuration(most)}`);
    return ms;
  };
}

/** Milliseconds, both ends included. */
interface DurationBounds {
  readonly least?: number;
  readonly most?: number;
}

function positive(text: string, value: number): number {
  if (value <= 0) throw new Error(`${JSON.stringify(text)} must be greater than zero`);
  return value;
}

/** An integer of at least `least`. */
export function integer(least: number, most: number): Reader<number> {
  return (text) => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= least && value <= most))
      throw new Error(`${JSON.stringify(text)} must be an integer from ${least} to ${most}`);
    return value;
  };
}

/** One of a few words. */
export function choice<T extends string>(...words: readonly T[]): Reader<T> {
  return (text) => {
    const found = words.find((word) => word === text);
    if (found === undefined) throw new Error(`${JSON.stringify(text)} must be one of ${words.join(", ")}`);
    return found;
  };
}
