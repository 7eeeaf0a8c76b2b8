/**
 * Wraps the paragraphs of a help text. Indented lines stay as they are: the columns of options, and examples. A line
 * that ends a sentence ends a line of the result too.
 *
 * @param width - columns
 */
export function wrapHelp(text: string, width: number): string {
  const wrapped: string[] = [];
  let open: string | undefined;
  const close = (): void => {
    if (open !== undefined) wrapped.push(...wrapLine(open, width));
    open = undefined;
  };
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith(" ")) {
      close();
      wrapped.push(line);
      continue;
    }
    open = open === undefined ? line : `${open} ${line}`;
    if (/[.:]$/.test(line)) close();
  }
  close();
  return wrapped.join("\n");
}

function wrapLine(line: string, width: number): string[] {
  const lines: string[] = [];
  let current = "";
  for (const word of line.split(" ")) {
    if (current === "") current = word;
    else if (current.length + 1 + word.length <= width) current += ` ${word}`;
    else {
      lines.push(current);
      current = word;
    }
  }
  return [...lines, current];
}
