import type { Command } from "commander";

/** A command as completion scripts need it. */
export interface CommandNode {
  /** `xpkg build`; empty for xfn itself. */
  readonly path: string;
  readonly description: string;
  readonly commands: readonly CommandNode[];
  readonly flags: readonly Flag[];
}

/** A flag of a command. */
export interface Flag {
  /** `--output` */
  readonly long: string;
  /** `-o` */
  readonly short: string | undefined;
  readonly description: string;
  /** Whether a value follows. */
  readonly takesValue: boolean;
}

/** The commands and flags that the help shows. */
export function commandTree(program: Command, path = ""): CommandNode {
  const visible = program.createHelp();
  return {
    path,
    description: program.description(),
    commands: visible
      .visibleCommands(program)
      .filter((command) => command.name() !== "help")
      .map((command) => commandTree(command, `${path} ${command.name()}`.trim())),
    flags: visible.visibleOptions(program).map(({ long, short, description, required, optional }) => ({
      long: long ?? "",
      short,
      description,
      takesValue: required || optional,
    })),
  };
}

/** A command and all commands below it. */
export function allCommands(node: CommandNode): readonly CommandNode[] {
  return [node, ...node.commands.flatMap(allCommands)];
}
