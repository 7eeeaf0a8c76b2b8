import { declareSettings, givenFlags, readSettings, type SettingsOf } from "@xfn/program/settings";
import type { Command } from "commander";
import { usageError } from "../errors/cli-error.ts";
import type { Output } from "../terminal/output.ts";

/** Passed to each command's declaration. */
export interface CommandContext {
  readonly program: Command;
  readonly output: Output;
  /** The folder of @xfn/cli, with a slash at the end. */
  readonly packageFolder: URL;
  /** Reports the exit code of the command that ran. */
  finish(exitCode: number): void;
}

/** A command. Declarations contain texts only, so that `xfn --help` and every other command start without its logic. */
interface Declaration<Flags extends object, Arguments extends readonly unknown[]> {
  readonly description: string;
  /** Descriptions by name: `<image>`, `[file]` if it may be absent, `<name...>` for several. */
  readonly arguments?: Readonly<Record<string, string>>;
  readonly settings: SettingsOf<Flags>;
  readonly help: string;
  /** Imports the command's logic, runs it and returns the exit code. */
  readonly run: (flags: Flags, ...args: Arguments) => Promise<number>;
}

/** Declares a command with its flags. */
export function declareCommand<Flags extends object, Arguments extends readonly unknown[]>(
  { program, finish }: CommandContext,
  name: string,
  { description, arguments: args = {}, settings, help, run }: Declaration<Flags, Arguments>,
): Command {
  const command = program.command(name).description(description);
  for (const [argument, text] of Object.entries(args)) command.argument(argument, text);
  return declareSettings(command, settings)
    .addHelpText("after", help)
    .action(async () => {
      finish(await run(readFlags(command, settings), ...(command.processedArgs as unknown as Arguments)));
    });
}

/**
 * Reads the flags of a command. Flags that were not given and have no default are absent.
 *
 * @throws CliError `Usage` with all problems
 */
function readFlags<T extends object>(command: Command, settings: SettingsOf<T>): T {
  const given = givenFlags(command);
  const { config, problems } = readSettings(settings, given);
  const [first, ...others] = problems;
  if (first !== undefined) throw usageError(first, others);
  const isSet = ([key, value]: [string, unknown]): boolean => {
    const { name, shown, required } = settings[key as keyof T];
    return value !== undefined && (given[name] !== undefined || shown !== undefined || required === true);
  };
  return Object.fromEntries(Object.entries(config).filter(isSet)) as T;
}
