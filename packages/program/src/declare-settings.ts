import type { Command } from "commander";
import { Option } from "commander";
import type { GivenFlags } from "./read-settings.ts";
import { type Setting, type SettingsOf, variableOf } from "./setting.ts";

/**
 * Declares the flags of settings. Commander keeps the texts: {@link readSettings} reads them together with the
 * variables, so that all problems are reported at once.
 *
 * @param program - the program whose variables the help names; absent if it reads flags only
 */
export function declareSettings<T extends object>(
  command: Command,
  settings: SettingsOf<T>,
  program?: string,
): Command {
  for (const setting of Object.values<Setting<unknown>>(settings)) command.addOption(optionOf(program, setting));
  return command;
}

/** The flags that commander parsed, by name. Flags of parent commands take precedence. */
export function givenFlags(command: Command): GivenFlags {
  const parsed: Readonly<Record<string, unknown>> = command.optsWithGlobals();
  const entries = command.options.map((option) => {
    const value = parsed[option.attributeName()];
    // Commander gives `--no-check` as `check`, true by default.
    return [option.name(), option.negate ? (value === false ? true : undefined) : value];
  });
  return Object.fromEntries(entries) as GivenFlags;
}

const WORDS: WeakMap<Option, readonly string[]> = new WeakMap();

/** The words that the value of an option can be; undefined if there are others. */
export function wordsOf(option: Option): readonly string[] | undefined {
  return WORDS.get(option);
}

function optionOf(program: string | undefined, setting: Setting<unknown>): Option {
  const { name, short, value, many, help, shown, hidden = false, required = false } = setting;
  const notes = [
    many ? "repeatable" : "",
    shown === undefined ? "" : `default: ${shown}`,
    program === undefined || setting.variable === false ? "" : variableOf(program, setting),
  ].filter((note) => note !== "");
  const text = notes.length === 0 ? help : `${help} (${notes.join("; ")})`;
  const long = value === undefined ? `--${name}` : `--${name} ${value}`;
  const option = new Option(short === undefined ? long : `-${short}, ${long}`, text)
    .hideHelp(hidden)
    .makeOptionMandatory(required);
  if (many) option.argParser((given: string, earlier: readonly string[] | undefined) => [...(earlier ?? []), given]);
  if (setting.group !== undefined) option.helpGroup(`${setting.group}:`);
  if (setting.words !== undefined) WORDS.set(option, setting.words);
  return option;
}
