import { allCommands, type CommandNode, type Flag, type Values } from "./command-tree.ts";

/** Shells with a completion script. */
export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** The hidden command that a script calls for values that it cannot know. */
export const COMPLETE = "__complete";

/**
 * A script that completes commands, flags and their values. Other arguments and values are completed as file names.
 *
 * @param name - the name of the program
 */
export function completionScript(shell: Shell, root: CommandNode, name: string): string {
  switch (shell) {
    case "bash":
      return bashScript(root, name);
    case "zsh":
      // zsh runs completions of bash: https://zsh.sourceforge.io/Doc/Release/Completion-System.html
      return `#compdef ${name}\nautoload -U +X bashcompinit && bashcompinit\n${bashScript(root, name)}`;
    case "fish":
      return fishScript(root, name);
  }
}

function functionName(name: string): string {
  return `_${name.replaceAll("-", "_")}`;
}

function bashScript(root: CommandNode, name: string): string {
  const commands = allCommands(root);
  const paths = commands.filter(({ path }) => path !== "").map(({ path }) => `"${path}"`);
  const words = commands.map(({ path, commands: below, flags, arguments: values }) => {
    const names = below.map((command) => command.path.split(" ").at(-1));
    const options = flags.flatMap(({ long, short }) => [long, ...(short === undefined ? [] : [short])]);
    const asks = values.length > 0 ? ' ask="arguments"' : "";
    return [
      `    "${path}")`,
      `      commands="${names.join(" ")}" flags="${options.join(" ")}"${asks}`,
      ...flagCases(flags),
      "      ;;",
    ].join("\n");
  });
  const fn = functionName(name);
  return `${fn}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="" command="" commands="" flags="" values="" ask="" folders="" word="" index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    case "\${command:+$command }$word" in
    ${paths.join(" | ")}) command="\${command:+$command }$word" ;;
    esac
  done
  before="\${COMP_WORDS[COMP_CWORD-1]}"
  # bash makes words of --flag=value: --flag, = and value.
  [[ "$current" != "=" ]] || current=""
  [[ "$before" != "=" ]] || before="\${COMP_WORDS[COMP_CWORD-2]}"
  case "$command" in
${words.join("\n")}
  esac
  if [[ -n "$folders" ]]; then
    COMPREPLY=($(compgen -d -- "$current"))
    return
  fi
  if [[ -z "$values" && "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$current"))
    return
  fi
  [[ "$ask" != arguments || -z "$commands" ]] || ask=""
  # bash also splits words at colons, as in names of images.
  local whole="$current" line="\${COMP_LINE:0:\${COMP_POINT:-0}}"
  [[ "$line" != *:* ]] || whole="\${line##*[ =]}"
  if [[ -n "$ask" ]]; then
    values="$values $("\${COMP_WORDS[0]}" ${COMPLETE} "$ask" "\${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)"
  elif [[ -z "$values" ]]; then
    values="$commands"
  fi
  COMPREPLY=($(compgen -W "$values" -- "$whole"))
  [[ "$whole" == "$current" ]] || COMPREPLY=("\${COMPREPLY[@]#"\${whole%"\${whole##*:}"}"}")
}
complete -o default -F ${fn} ${name} ./${name}
`;
}

function flagCases(flags: readonly Flag[]): string[] {
  const cases = flags.flatMap(({ long, short, values }) => {
    if (values === undefined) return [];
    const names = [long, ...(short === undefined ? [] : [short])].join(" | ");
    return [`      ${names}) ask="" ${assignment(values)} ;;`];
  });
  return cases.length === 0 ? [] : ['      case "$before" in', ...cases, "      esac"];
}

function assignment(values: Values): string {
  if (values === "folders") return "folders=1";
  return typeof values === "string" ? `ask="${values}"` : `values="${values.join(" ")}"`;
}

function fishScript(root: CommandNode, name: string): string {
  const is = `_${functionName(name)}_command_is`;
  const list = `_${functionName(name)}_values`;
  const ask = (what: string): string => `(${list} ${what})`;
  const lines = allCommands(root).flatMap(({ path, commands, flags, arguments: values }) => {
    const condition = path === "" ? "__fish_use_subcommand" : `${is} ${path}`;
    return [
      ...commands.map(
        (command) =>
          `complete -c ${name} -f -n ${fishText(condition)} -a ${command.path.split(" ").at(-1)} -d ${fishText(command.description)}`,
      ),
      ...(values.length === 0
        ? []
        : [`complete -c ${name} -n ${fishText(condition)} -a ${fishText(ask("arguments"))}`]),
      ...flags.map(({ long, short, description, takesValue, values: of }) => {
        const letter = short === undefined ? "" : ` -s ${short.slice(1)}`;
        const value = takesValue ? " -r" : "";
        const known = of === undefined ? "" : ` -f -a ${fishText(fishValues(of, ask))}`;
        return `complete -c ${name} -n ${fishText(condition)} -l ${long.slice(2)}${letter}${value}${known} -d ${fishText(description)}`;
      }),
    ];
  });
  return `function ${is}
  set -l words (string match -v -- '-*' (commandline -opc))[2..]
  test (count $words) -ge (count $argv); or return 1
  set -l given $words[1..(count $argv)]
  test "$given" = "$argv"
end
function ${list}
  set -l words (commandline -opc)
  command $words[1] ${COMPLETE} $argv[1] $words[2..] 2>/dev/null
end
${lines.join("\n")}
`;
}

function fishValues(values: Values, ask: (what: string) => string): string {
  if (values === "folders") return "(__fish_complete_directories)";
  return typeof values === "string" ? ask(values) : values.join(" ");
}

function fishText(text: string): string {
  return `'${text.replaceAll(/['\\]/g, "\\$&")}'`;
}
