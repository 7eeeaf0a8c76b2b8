/** The commands in the `console` blocks of a Markdown text: what follows `$ `, with the lines that a `\` continues. */
export function consoleCommands(markdown: string): string[] {
  const blocks = [...markdown.matchAll(/^```console\n([\s\S]*?)^```$/gm)].map(([, block = ""]) => block);
  return blocks.flatMap((block) => [...block.matchAll(/^\$ ((?:.*\\\n)*.*)$/gm)].map(([, command = ""]) => command));
}
