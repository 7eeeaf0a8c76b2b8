/** A fenced block of a Markdown text: ```` ```LANGUAGE REST ````. */
export interface FencedBlock {
  language: string;
  /** What follows the language in the opening line. */
  rest: string;
  text: string;
}

/** A command of a `console` block, and what is shown below it. */
export interface ConsoleCommand {
  command: string;
  output: string;
}

/** The fenced blocks of a Markdown text, in their order. */
export function fencedBlocks(markdown: string): FencedBlock[] {
  const blocks = markdown.matchAll(/^```(\w+)[ ]?(.*)\n([\s\S]*?)^```$/gm);
  return [...blocks].map(([, language = "", rest = "", text = ""]) => ({ language, rest, text }));
}

/** The commands in the text of a `console` block: lines that begin with `$ `. */
export function consoleCommands(text: string): ConsoleCommand[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const end = part.indexOf("\n");
      return { command: part.slice(0, end), output: part.slice(end + 1) };
    });
}
