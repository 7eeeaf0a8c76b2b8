/** A fenced block of a Markdown text: ```` ```LANGUAGE REST ````. */
export interface FencedBlock {
  language: string;
  /** The rest of the opening line after the language. */
  rest: string;
  text: string;
}

/** A command of a `console` block with the output below it. */
export interface ConsoleCommand {
  command: string;
  output: string;
}

/** Returns the fenced blocks of a Markdown text, in order. */
export function fencedBlocks(markdown: string): FencedBlock[] {
  const blocks = markdown.matchAll(/^```(\w+)[ ]?(.*)\n([\s\S]*?)^```$/gm);
  return [...blocks].map(([, language = "", rest = "", text = ""]) => ({ language, rest, text }));
}

/** Returns the commands of a `console` block: lines that begin with `$ `. */
export function consoleCommands(text: string): ConsoleCommand[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const end = part.indexOf("\n");
      return { command: part.slice(0, end), output: part.slice(end + 1) };
    });
}
