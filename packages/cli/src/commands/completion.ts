import { ExitCode } from "@xfn/program/exit-code";
import { usageError } from "../errors/cli-error.ts";
import type { CommandContext } from "./command-context.ts";

const HELP = `
Completes commands and flags; arguments are completed as file names.

Example:
  $ source <(xfn completion bash)          # in ~/.bashrc
  $ source <(xfn completion zsh)           # in ~/.zshrc, after compinit
  $ xfn completion fish | source           # in ~/.config/fish/config.fish`;

/** Declares `xfn completion`. */
export function addCompletion({ program, output, finish }: CommandContext): void {
  program
    .command("completion")
    .description("print a script that completes commands and flags")
    .argument("<shell>", "bash, zsh or fish")
    .addHelpText("after", HELP)
    .action(async (name: string) => {
      const { completionScript, SHELLS } = await import("../completion/completion-script.ts");
      const { commandTree } = await import("../completion/command-tree.ts");
      const shell = SHELLS.find((known) => known === name);
      if (shell === undefined) throw usageError(`the shell must be ${SHELLS.join(", ")}, not ${JSON.stringify(name)}`);
      await output.product(completionScript(shell, commandTree(program)));
      finish(ExitCode.ok);
    });
}
