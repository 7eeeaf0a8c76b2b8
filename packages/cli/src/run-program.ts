import { readFileSync } from "node:fs";
import { ExitCode } from "@xfn/program/exit-code";
import { escapeControls } from "@xfn/program/terminal-text";
import { Command, CommanderError } from "commander";
import type { CommandContext } from "./commands/command-context.ts";
import { TRACE_FORMS } from "./render/render-options.ts";
import { describeError } from "./terminal/describe-error.ts";
import type { Output } from "./terminal/output.ts";
import { wrapHelp } from "./terminal/wrap-help.ts";

/** As seen from src, from dist, and from the bundle in dist. */
const PACKAGE_FOLDER = new URL("../", import.meta.url);

/**
 * Runs one command and returns its exit code: 0, 1 for a fatal result or a failed run, 2 for wrong usage or input, 128
 * + the signal's number when interrupted. Never rejects.
 *
 * @param args - the arguments after `xfn`
 * @param commands - declare the commands
 */
export async function runProgram(
  args: readonly string[],
  output: Output,
  commands: readonly ((context: CommandContext) => void)[],
): Promise<number> {
  let exitCode: number = ExitCode.ok;
  let help = "";
  const program = new Command("xfn")
    .description("Composition functions for Kubernetes, in containers without Docker, daemon or root")
    .version(version(), "-V, --version")
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .exitOverride()
    // The default, 40, leaves long descriptions unwrapped in a terminal of 80 columns.
    .configureHelp({ minWidthToWrap: MIN_HELP_COLUMNS })
    .configureOutput({
      // Requested help is a product; help after an error goes to stderr.
      writeOut: (text) => {
        help += text;
      },
      writeErr: (text) => output.note(escapeControls(text.trimEnd())),
      outputError: (text, write) => write(text.replace(/^error: /, "xfn: ")),
    });
  const declaration = {
    program,
    output,
    packageFolder: PACKAGE_FOLDER,
    finish(code: number): void {
      exitCode = code;
    },
  };
  for (const add of commands) add(declaration);
  try {
    await program.parseAsync(withTraceForms(withFormats(args)), { from: "user" });
    return exitCode;
  } catch (error) {
    // Commander has printed the message: help and version are not errors, others are wrong usage.
    if (error instanceof CommanderError && error.exitCode !== 0) {
      const hint = error.code === "commander.unknownCommand" ? PEER_COMMANDS[unknownCommand(args)] : undefined;
      if (hint !== undefined) output.note(`xfn: ${hint}`);
      return ExitCode.usage;
    }
    const problem =
      error instanceof CommanderError
        ? await output.product(wrapHelp(help, helpWidth())).catch((failure: unknown) => failure)
        : error;
    if (problem === undefined) return ExitCode.ok;
    const report = describeError(problem, (process.env["XFN_DEBUG"] ?? "") !== "");
    for (const line of report.lines) output.note(line);
    return report.exitCode;
  }
}

/** Commands of `crossplane` that xfn has under another name, or lacks. */
const PEER_COMMANDS: Readonly<Record<string, string>> = {
  beta: "xfn has the commands of `crossplane beta` without that word, such as xfn render, xfn validate and xfn trace",
  composition: "xfn has this command without that word: xfn render",
  resource: "xfn has these commands without that word: xfn validate, xfn trace",
};

function unknownCommand(args: readonly string[]): string {
  const words = args.filter((arg) => !arg.startsWith("-"));
  return words.slice(0, words[0] === "xpkg" ? 2 : 1).join(" ");
}

/** The minimum width of the column of descriptions. The longest flag leaves 37 of 80 columns. */
const MIN_HELP_COLUMNS = 30;

/** As commander, which wraps the columns of options. */
function helpWidth(): number {
  return (process.stdout.isTTY ? process.stdout.columns : undefined) || 80;
}

/**
 * Without this, commander reads `XR` of `--trace XR` as the form of the trace. `--trace html` is a form, too.
 * `--trace-file` implies a trace whose form depends on the name of the file, so that an additional bare `--trace` has
 * no effect.
 */
function withTraceForms(given: readonly string[]): readonly string[] {
  const args = given.flatMap((argument, index) => {
    if (argument === "--trace" && isTraceForm(given[index + 1])) return [`--trace=${given[index + 1]}`];
    return given[index - 1] === "--trace" && isTraceForm(argument) ? [] : [argument];
  });
  const hasFile = args.some((argument) => argument === "--trace-file" || argument.startsWith("--trace-file="));
  return hasFile
    ? args.filter((argument) => argument !== "--trace")
    : args.map((argument) => (argument === "--trace" ? "--trace=text" : argument));
}

function isTraceForm(text: string | undefined): boolean {
  return TRACE_FORMS.some((form) => form === text);
}

/**
 * `-o` of render is `--observed-resources`, as in `crossplane render`. The formats that `-o` chooses elsewhere mean
 * `--output`, as a flag of its own: of two `-o`, commander would keep only the last.
 */
function withFormats(args: readonly string[]): readonly string[] {
  if (args[0] !== "render") return args;
  return args.flatMap((argument, index) => {
    const joined = /^-o=?(yaml|json)$/.exec(argument)?.[1];
    if (joined !== undefined) return [`--output=${joined}`];
    if (argument === "-o" && isFormat(args[index + 1])) return [`--output=${args[index + 1]}`];
    return args[index - 1] === "-o" && isFormat(argument) ? [] : [argument];
  });
}

function isFormat(text: string | undefined): boolean {
  return text === "yaml" || text === "json";
}

function version(): string {
  const { version } = JSON.parse(readFileSync(new URL("package.json", PACKAGE_FOLDER), "utf8")) as {
    version: string;
  };
  return version;
}
