import { readFileSync } from "node:fs";
import process from "node:process";
import { messageOf } from "@xfn/errors";
import { Command, CommanderError } from "commander";
import { ExitCode, UsageError } from "./exit-code.ts";
import { oneLine } from "./terminal-text.ts";

/** The command line of a program. Callers add commands to `program`, which set their exit code by `exitWith`. */
export interface CommandLine {
  readonly program: Command;
  readonly version: string;
  /** Sets the exit code that `parse` returns, unless it fails. */
  exitWith(code: number): void;
  /** Writes lines to stderr, each after the program's name. */
  say(text: string): void;
  /** Runs one command and returns its exit code. Never rejects. @param args the arguments after the program's name */
  parse(args: readonly string[]): Promise<number>;
}

/**
 * Creates the command line of a program without commands. Usage errors go to stderr, one line each, with exit code 2.
 *
 * @param manifest the package.json with the version
 */
export function commandLine(name: string, description: string, manifest: URL): CommandLine {
  const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };
  let exitCode: number = ExitCode.ok;
  const say = (text: string): void => {
    for (const line of text.split("\n")) process.stderr.write(`${name}: ${oneLine(line)}\n`);
  };
  const program = new Command(name)
    .description(description)
    .version(version, "-V, --version")
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      // Without a command, commander prints the help here.
      writeErr: (text) => (text.startsWith("Usage:") ? void process.stderr.write(text) : say(text.trimEnd())),
      outputError: (text, write) => write(text.replace(/^error: /, "")),
    });
  return {
    program,
    version,
    say,
    exitWith: (code) => {
      exitCode = code;
    },
    async parse(args) {
      try {
        await program.parseAsync(args, { from: "user" });
        return exitCode;
      } catch (error) {
        if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.ok : ExitCode.usage;
        if (error instanceof UsageError) {
          for (const problem of error.problems) say(problem);
          return ExitCode.usage;
        }
        say(messageOf(error));
        return ExitCode.failed;
      }
    },
  };
}
