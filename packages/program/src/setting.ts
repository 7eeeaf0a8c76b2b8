import {
  formatDuration,
  MAX_TIMER_MS,
  parseDuration,
  parseQuantity,
  quantityToBytes,
  quantityToCores,
} from "@xfn/units";

/** One setting of a command: a flag, the environment variable of the same name, and a reader for its text. */
export interface Setting<T> {
  /** The flag without its dashes: `max-memory`. The variable of `xfn-runner` is `XFN_RUNNER_MAX_MEMORY`. */
  readonly name: string;
  /** The letter of the short flag: `o` for `-o`. */
  readonly short?: string;
  /** False if the setting is a flag only: the variable of this name belongs to another command of the program. */
  readonly variable?: false;
  /** The placeholder of the value in the help, such as `<file>`; undefined for a switch. */
  readonly value: string | undefined;
  /** Whether the flag can be repeated. The variable then contains several values, separated by commas. */
  readonly many: boolean;
  /** One line for the help. */
  readonly help: string;
  /** The title of its group in the help. */
  readonly group?: string;
  /** True if the command accepts the flag but does not show it in the help. */
  readonly hidden?: boolean;
  /** True if the command cannot run without the flag. */
  readonly required?: boolean;
  /** The value if neither the flag nor the variable is set. */
  readonly standard: T;
  /** The default as shown in the help; undefined if there is none to show. */
  readonly shown: string | undefined;
  /** The words that the value can be. Undefined if there are others. */
  readonly words?: readonly string[] | undefined;
  /** Reads one or more texts. @throws Error whose message quotes the text and says what is expected */
  readonly read: (texts: readonly string[]) => T;
}

/** Reads one text. @throws Error whose message quotes the text and says what is expected */
export type Reader<T> = ((text: string) => T) & {
  /** The words that it accepts, if there are no others. */
  readonly words?: readonly string[];
};

/** A setting in a table. {@link settings} adds its name. */
export type Row<T> = Omit<Setting<T>, "name"> & Partial<Pick<Setting<T>, "name">>;

/** The properties of a row that have defaults. */
type Extras = Partial<Pick<Setting<unknown>, "short" | "hidden" | "variable" | "shown">>;

/** The settings of a command, by the keys of its configuration. */
export type SettingsOf<T> = { readonly [K in keyof T]-?: Setting<T[K]> };

/** Names each row that has no name after its key: `maxMemory` is `max-memory`. */
export function settings<T>(rows: { readonly [K in keyof T]-?: Row<T[K]> }): SettingsOf<T> {
  const named = Object.entries<Row<unknown>>(rows).map(([key, row]) => {
    return [key, { name: key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`), ...row }];
  });
  return Object.fromEntries(named) as SettingsOf<T>;
}

/** Shows rows in a group of the help. */
export function group<R extends object>(title: string, rows: R): R {
  return Object.fromEntries(Object.entries(rows).map(([key, row]) => [key, { ...row, group: title }])) as R;
}

/** A setting with one value. @param standard the text of the default */
export function one<T>(value: string, help: string, read: Reader<T>, standard: string, extras: Extras = {}): Row<T> {
  return { ...rowOf(value, help, read, read(standard)), shown: standard, ...extras };
}

/** A setting with one value and no default. @param extras `shown`: what the program does without the setting */
export function optional<T>(value: string, help: string, read: Reader<T>, extras: Extras = {}): Row<T | undefined> {
  return { ...rowOf<T | undefined>(value, help, read, undefined), ...extras };
}

function rowOf<T>(value: string, help: string, read: Reader<T>, standard: T): Row<T> {
  return {
    value,
    many: false,
    help,
    standard,
    shown: undefined,
    words: read.words,
    read: ([given = ""]) => read(given),
  };
}

/** A setting with a text and no default. */
export function text(value: string, help: string, extras: Extras = {}): Row<string | undefined> {
  return optional(value, help, anyText, extras);
}

/** A text without which the command cannot run. */
export function required(value: string, help: string, extras: Extras = {}): Row<string> {
  return { ...rowOf(value, help, anyText, ""), required: true, ...extras };
}

/** A setting that can be repeated. */
export function many<T>(
  value: string,
  help: string,
  read: Reader<T>,
  extras: Extras & { readonly standard?: readonly T[] } = {},
): Row<readonly T[]> {
  return { value, many: true, help, standard: [], shown: undefined, read: (texts) => texts.map(read), ...extras };
}

/** A setting with texts that can be repeated. */
export function texts(value: string, help: string, extras: Extras = {}): Row<readonly string[]> {
  return many(value, help, anyText, extras);
}

/** A switch. */
export function toggle(help: string, extras: Extras = {}): Row<boolean> {
  const read = ([text = ""]: readonly string[]): boolean => truth(text);
  return { value: undefined, many: false, help, standard: false, shown: undefined, read, ...extras };
}

/** A switch that is on by default. `--name=false` turns it off. */
export function toggleOff(help: string, extras: Extras = {}): Row<boolean> {
  return one("[true|false]", help, truth, "true", extras);
}

function truth(text: string): boolean {
  if (text === "true" || text === "1") return true;
  if (text === "false" || text === "0") return false;
  throw new Error(`${JSON.stringify(text)} must be true or false`);
}

/** The environment variable of a program's setting. */
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

/** Milliseconds of an age, above zero. Ages are not limited by timers. */
export const age: Reader<number> = (text) => positive(text, parseDuration(text));

/** Milliseconds, zero included. */
export const durationOrNone: Reader<number> = (text) => {
  const ms = parseDuration(text);
  if (ms < 0) throw new Error(`${JSON.stringify(text)} must not be negative`);
  if (ms > MAX_TIMER_MS) throw new Error(`${JSON.stringify(text)} must be at most 24 days`);
  return ms;
};

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

/** Bytes of a Kubernetes quantity, above zero. */
export const memory: Reader<number> = (text) => positive(text, quantityToBytes(parseQuantity(text)));

/** Cores of a Kubernetes quantity, above zero. */
export const cpu: Reader<number> = (text) => positive(text, quantityToCores(parseQuantity(text)));

function positive(text: string, value: number): number {
  if (value <= 0) throw new Error(`${JSON.stringify(text)} must be greater than zero`);
  return value;
}

/** An integer between two bounds, both included. */
export function integer(least: number, most: number): Reader<number> {
  return (text) => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= least && value <= most))
      throw new Error(`${JSON.stringify(text)} must be an integer from ${least} to ${most}`);
    return value;
  };
}

/** One of several words. */
export function choice<const T extends string>(...words: readonly T[]): Reader<T> {
  return Object.assign((text: string) => oneOf(words, text, (word) => word === text), { words });
}

/** One of several words, in upper or lower case. */
export function choiceAnyCase<const T extends string>(...words: readonly T[]): Reader<T> {
  return Object.assign((text: string) => oneOf(words, text, (word) => word.toLowerCase() === text.toLowerCase()), {
    words,
  });
}

function oneOf<T extends string>(words: readonly T[], text: string, matches: (word: T) => boolean): T {
  const found = words.find(matches);
  if (found === undefined) throw new Error(`${JSON.stringify(text)} must be one of ${words.join(", ")}`);
  return found;
}
