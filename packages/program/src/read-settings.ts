import type { Setting } from "./setting.ts";
import { variableOf } from "./setting.ts";

/** The settings of a command, by the names of what they are read into. */
export type SettingsOf<T> = { readonly [K in keyof T]-?: Setting<T[K]> };

/** What was given on the command line, by flag: a text, several, or true for a switch. */
export type GivenFlags = Readonly<Record<string, string | readonly string[] | boolean | undefined>>;

/**
 * Reads all settings: a flag counts more than its variable, which counts more than the default. Variables of other names are
 * nobody's mistake: Kubernetes makes `XFN_RUNNER_PORT` and others of a Service that is called xfn-runner.
 *
 * @param program whose variables they are: `xfn-runner`
 * @returns the values, the defaults in the place of those that cannot be read, and what is wrong, a line each
 */
export function readSettings<T extends object>(
  program: string,
  settings: SettingsOf<T>,
  flags: GivenFlags,
  environment: NodeJS.ProcessEnv,
): { config: T; problems: string[] } {
  const problems: string[] = [];
  const read = (setting: Setting<unknown>): unknown => {
    const given = texts(program, setting, flags, environment);
    if (given === undefined) return setting.standard;
    try {
      return setting.read(given.texts);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      problems.push(`${given.source}: ${why}`);
      return setting.standard;
    }
  };
  const entries = Object.entries(settings).map(([key, setting]) => [key, read(setting as Setting<unknown>)] as const);
  return { config: Object.fromEntries(entries) as T, problems };
}

interface Given {
  readonly source: string;
  readonly texts: readonly string[];
}

function texts(
  program: string,
  setting: Setting<unknown>,
  flags: GivenFlags,
  environment: NodeJS.ProcessEnv,
): Given | undefined {
  const flag = flags[setting.name];
  const source = `--${setting.name}`;
  if (typeof flag === "string") return { source, texts: [flag] };
  if (typeof flag === "boolean") return { source, texts: [String(flag)] };
  if (flag !== undefined) return { source, texts: flag };
  const variable = variableOf(program, setting);
  const value = environment[variable];
  // An empty variable is how manifests write "not set".
  if (value === undefined || value === "") return undefined;
  if (!setting.many) return { source: variable, texts: [value] };
  const parts = value
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  return parts.length === 0 ? undefined : { source: variable, texts: parts };
}
