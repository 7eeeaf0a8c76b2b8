import { messageOf } from "@xfn/errors";
import { type Setting, type SettingsOf, variableOf } from "./setting.ts";

/** The values on the command line, by flag: one text, several, or true for a switch. */
export type GivenFlags = Readonly<Record<string, string | readonly string[] | boolean | undefined>>;

/** The source of variables. */
export interface Variables {
  /** The prefix of their names: `xfn-runner` for `XFN_RUNNER_...`. */
  readonly program: string;
  readonly environment: NodeJS.ProcessEnv;
}

/**
 * Reads all settings. A flag takes precedence over its variable, and a variable over the default. Unknown variables are
 * ignored: Kubernetes sets `XFN_RUNNER_PORT` and others for a Service with the name xfn-runner.
 *
 * @param variables undefined for a program that reads flags only
 * @returns the values, with the default for each setting that cannot be read; and the problems, one line each
 */
export function readSettings<T extends object>(
  settings: SettingsOf<T>,
  flags: GivenFlags,
  variables?: Variables,
): { config: T; problems: string[] } {
  const problems: string[] = [];
  const read = (setting: Setting<unknown>): unknown => {
    const given = flagOf(setting, flags) ?? (variables && variableValue(setting, variables));
    if (given === undefined) return setting.standard;
    try {
      return setting.read(given.texts);
    } catch (error) {
      problems.push(`${given.source}: ${messageOf(error)}`);
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

function flagOf({ name }: Setting<unknown>, flags: GivenFlags): Given | undefined {
  const flag = flags[name];
  if (flag === undefined) return undefined;
  return { source: `--${name}`, texts: typeof flag === "object" ? flag : [String(flag)] };
}

function variableValue(setting: Setting<unknown>, { program, environment }: Variables): Given | undefined {
  if (setting.variable === false) return undefined;
  const source = variableOf(program, setting);
  const value = environment[source];
  // Manifests write an empty variable for "not set".
  if (value === undefined || value === "") return undefined;
  if (!setting.many) return { source, texts: [value] };
  const texts = value
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  return texts.length === 0 ? undefined : { source, texts };
}
