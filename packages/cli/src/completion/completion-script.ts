import { allCommands, type CommandNode } from "./command-tree.ts";

/** Shells with a completion script. */
export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** A script that completes commands and flags. Arguments and values of flags are completed as file names. */
export function completionScript(shell: Shell, root: CommandNode): string {
  switch (shell) {
    case "bash":
      return bashScript(root);
    case "zsh":
      // zsh runs completions of bash: https://zsh.sourceforge.io/Doc/Release/Completion-System.html
      return `#compdef xfn\nautoload -U +X bashcompinit && bashcompinit\n${bashScript(root)}`;
    case "fish":
      return fishScript(root);
  }
}

function bashScript(root: CommandNode): string {
  const commands = allCommands(root);
  const paths = commands.filter(({ path }) => path !== "").map(({ path }) => `"${path}"`);
  const words = commands.map(({ path, commands: below, flags }) => {
    const names = below.map((command) => command.path.split(" ").at(-1));
    const options = flags.flatMap(({ long, short }) => [long, ...(short === undefined ? [] : [short])]);
    return `    "${path}") commands="${names.join(" ")}" flags="${options.join(" ")}" ;;`;
  });
  return `_xfn() {
  local current="\${COMP_WORDS[COMP_CWORD]}" command="" commands="" flags="" word="" index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    case "\${command:+$command }$word" in
    ${paths.join(" | ")}) command="\${command:+$command }$word" ;;
    esac
  done
  case "$command" in
${words.join("\n")}
  esac
  case "$current" in
  -*) COMPREPLY=($(compgen -W "$flags" -- "$current")) ;;
  *) COMPREPLY=($(compgen -W "$commands" -- "$current")) ;;
  esac
}
complete -o default -F _xfn xfn ./xfn
`;
}

function fishScript(root: CommandNode): string {
  const lines = allCommands(root).flatMap(({ path, commands, flags }) => {
    const condition = path === "" ? "__fish_use_subcommand" : `__xfn_command_is ${path}`;
    return [
      ...commands.map(
        (command) =>
          `complete -c xfn -f -n ${fishText(condition)} -a ${command.path.split(" ").at(-1)} -d ${fishText(command.description)}`,
      ),
      ...flags.map(({ long, short, description, takesValue }) => {
        const letter = short === undefined ? "" : ` -s ${short.slice(1)}`;
        const value = takesValue ? " -r" : "";
        return `complete -c xfn -n ${fishText(condition)} -l ${long.slice(2)}${letter}${value} -d ${fishText(description)}`;
      }),
    ];
  });
  return `function __xfn_command_is
  set -l words (string match -v -- '-*' (commandline -opc))[2..]
  test (count $words) -ge (count $argv); or return 1
  set -l given $words[1..(count $argv)]
  test "$given" = "$argv"
end
${lines.join("\n")}
`;
}

function fishText(text: string): string {
  return `'${text.replaceAll(/['\\]/g, "\\$&")}'`;
}
