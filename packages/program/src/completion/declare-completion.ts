import type { Command } from "commander";
import { type ArgumentValues, argumentAt, commandTree, type ListedValues, withJoinedFlags } from "./command-tree.ts";
import { COMPLETE, completionScript, SHELLS } from "./completion-script.ts";

/** How a program completes its command line. */
export interface CompletionOptions {
  readonly arguments: ArgumentValues;
  /**
   * Lists values of a kind. Errors are not shown: nothing is completed then.
   *
   * @param words - the line without the program, and without the word that is completed
   * @param given - the arguments among them
   */
  readonly list: (kind: ListedValues, words: readonly string[], given: readonly string[]) => Promise<readonly string[]>;
  readonly write: (text: string) => Promise<void> | void;
  /** The error of another shell. */
  readonly usageError: (message: string) => Error;
}

/** No person reads a longer list. */
const MAX_VALUES = 1000;

/** Declares `completion`, and the hidden command that its scripts call. */
export function declareCompletion(program: Command, options: CompletionOptions): void {
  const name = program.name();
  program
    .command("completion")
    .description("print a script that completes commands, flags and values")
    .argument("<shell>", "bash, zsh or fish")
    .addHelpText("after", help(name))
    .action(async (given: string) => {
      const shell = SHELLS.find((known) => known === given);
      if (shell === undefined)
        throw options.usageError(`the shell must be ${SHELLS.join(", ")}, not ${JSON.stringify(given)}`);
      const values = { ...options.arguments, completion: [SHELLS] };
      await options.write(completionScript(shell, commandTree(program, values), name));
    });
  program
    .command(COMPLETE, { hidden: true })
    .argument("<what>")
    .argument("[words...]")
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (what: string, line: readonly string[]) => {
      const words = withJoinedFlags(line);
      const tree = commandTree(program, { ...options.arguments, completion: [SHELLS] });
      const { values, given } = argumentAt(tree, words);
      const kind = what === "arguments" ? values : (what as ListedValues);
      if (kind === undefined || kind === "folders") return;
      const found =
        typeof kind === "string" ? await options.list(kind, words, given).catch((): readonly string[] => []) : kind;
      // A name with other characters would be more than one word of a shell.
      const safe = found.filter((one) => /^[\w./:@+-]+$/.test(one));
      if (safe.length > 0) await options.write(`${safe.slice(0, MAX_VALUES).join("\n")}\n`);
    });
}

const help = (name: string): string => `
Completes commands, flags, and values: images of the local store, contexts, namespaces and kinds of a cluster, words that a flag takes.
Other values are completed as file names.

Example:
  $ source <(${name} completion bash)          # in ~/.bashrc
  $ source <(${name} completion zsh)           # in ~/.zshrc, after compinit
  $ ${name} completion fish | source           # in ~/.config/fish/config.fish`;
