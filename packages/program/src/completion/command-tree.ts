import type { Command, Option } from "commander";
import { wordsOf } from "../declare-settings.ts";

/**
 * Source of a value's completions: fixed words, folders, or a list that the program prints. Undefined: file names.
 */
export type Values = readonly string[] | "folders" | ListedValues;

/** Lists that a program prints for a shell. */
export type ListedValues = "images" | "contexts" | "namespaces" | "kinds" | "objects" | "compositions";

/** The values of arguments by command, such as `images rm`. The last one counts for all further arguments too. */
export type ArgumentValues = Readonly<Record<string, readonly (Values | undefined)[]>>;

/** A command as completion scripts need it. */
export interface CommandNode {
  /** `xpkg build`; empty for the program itself. */
  readonly path: string;
  readonly description: string;
  readonly commands: readonly CommandNode[];
  readonly flags: readonly Flag[];
  readonly arguments: readonly (Values | undefined)[];
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
  readonly values: Values | undefined;
}

/** The commands and flags that the help shows. */
export function commandTree(program: Command, values: ArgumentValues, path = ""): CommandNode {
  const visible = program.createHelp();
  return {
    path,
    description: program.description(),
    commands: visible
      .visibleCommands(program)
      .filter((command) => command.name() !== "help")
      .map((command) => commandTree(command, values, `${path} ${command.name()}`.trim())),
    flags: visible.visibleOptions(program).map((option) => ({
      long: option.long ?? "",
      short: option.short,
      description: option.description,
      takesValue: option.required || option.optional,
      values: valuesOf(option),
    })),
    arguments: values[path] ?? [],
  };
}

/** A command and all commands below it. */
export function allCommands(node: CommandNode): readonly CommandNode[] {
  return [node, ...node.commands.flatMap(allCommands)];
}

function valuesOf(option: Option): Values | undefined {
  const words = wordsOf(option);
  if (words !== undefined) return words;
  const { long, flags } = option;
  if (long === "--context") return "contexts";
  if (long === "--namespace") return "namespaces";
  if (/<dir>/.test(flags)) return "folders";
  return /<image>/.test(flags) ? "images" : undefined;
}

/**
 * The command of a line, and the values of the argument at its end.
 *
 * @param words - the line without the program, and without the word that is completed
 */
export function argumentAt(
  root: CommandNode,
  words: readonly string[],
): { values: Values | undefined; given: readonly string[] } {
  let node = root;
  const given: string[] = [];
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    const below = node.commands.find(({ path }) => path.split(" ").at(-1) === word);
    if (below !== undefined && given.length === 0) node = below;
    else if (word.startsWith("-") && word !== "-") {
      const flag = node.flags.find(({ long, short }) => word === long || word === short);
      // Its value is the next word.
      if (flag?.takesValue === true) index++;
    } else given.push(word);
  }
  const { arguments: all } = node;
  return { values: all[Math.min(given.length, all.length - 1)], given };
}

/** Joins `--flag`, `=` and a value, of which bash makes words of their own. */
export function withJoinedFlags(words: readonly string[]): string[] {
  const joined: string[] = [];
  for (let index = 0; index < words.length; index++) {
    const flag = words[index] === "=" ? joined.pop() : undefined;
    if (flag === undefined) joined.push(words[index] ?? "");
    else joined.push(`${flag}=${words[++index] ?? ""}`);
  }
  return joined;
}

/** The value of a flag in a line; undefined if it is not given. */
export function flagIn(words: readonly string[], ...names: readonly string[]): string | undefined {
  for (const [index, word] of words.entries()) {
    if (names.includes(word)) return words[index + 1];
    const name = names.find((one) => word.startsWith(`${one}=`));
    if (name !== undefined) return word.slice(name.length + 1);
  }
  return undefined;
}
