import type { Command } from "commander";
import { Option } from "commander";
import type { GivenFlags, SettingsOf } from "./read-settings.ts";
import type { Setting } from "./setting.ts";
import { variableOf } from "./setting.ts";

/** Groups of settings, as the help shows them. */
export type HelpGroups<T> = Readonly<Record<string, readonly (keyof T)[]>>;

/** Declares the flags of settings. The values stay texts: they are read with the environment's, and all that is wrong is told at once. */
export function declareSettings<T extends object>(
  program: string,
  command: Command,
  settings: SettingsOf<T>,
  groups: HelpGroups<T>,
  short: { readonly [K in keyof T]?: string } = {},
): Command {
  for (const [title, keys] of Object.entries(groups)) {
    for (const key of keys) {
      command.addOption(optionOf(program, settings[key], short[key]).helpGroup(`${title}:`));
    }
  }
  return command;
}

/** What commander parsed, by the names of flags. */
export function givenFlags(command: Command): GivenFlags {
  const parsed: Readonly<Record<string, unknown>> = command.opts();
  return Object.fromEntries(
    command.options.map((option) => [option.name(), parsed[option.attributeName()]]),
  ) as GivenFlags;
}

function optionOf(program: string, setting: Setting<unknown>, short: string | undefined): Option {
  const { name, value, many, help, shown } = setting;
  const notes = [
    many ? "repeatable" : "",
    shown === undefined ? "" : `default: ${shown}`,
    variableOf(program, setting),
  ];
  const text = `${help} (${notes.filter((note) => note !== "").join("; ")})`;
  const long = value === undefined ? `--${name}` : `--${name} ${value}`;
  const option = new Option(short === undefined ? long : `${short}, ${long}`, text);
  if (many) option.argParser((given: string, earlier: readonly string[] | undefined) => [...(earlier ?? []), given]);
  return option;
}
