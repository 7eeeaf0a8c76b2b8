import { problemsOf, type Text } from "./texts.ts";

/** The problems of a page in Markdown. */
export function problemsInPage(file: string, source: string): string[] {
  return paragraphsOf(file, source).flatMap((text) => problemsOf(text, true));
}

/** Paragraphs of a page: no code blocks, tables row by row and cell by cell. */
function paragraphsOf(file: string, source: string): Text[] {
  const found: Text[] = [];
  let fence = false;
  let paragraph: { line: number; text: string } | undefined;
  const close = (): void => {
    if (paragraph !== undefined) found.push({ file, ...paragraph });
    paragraph = undefined;
  };
  for (const [at, line] of source.split("\n").entries()) {
    if (/^\s*(```|~~~)/.test(line)) {
      fence = !fence;
      close();
    } else if (fence || line.trim() === "" || /^\s*<!--/.test(line)) close();
    else if (line.startsWith("|")) {
      close();
      for (const cell of line.split(/(?<!\\)\|/)) found.push({ file, line: at + 1, text: cell });
    } else if (/^\s*(#|[-*] |\d+\. |> )/.test(line)) {
      close();
      paragraph = { line: at + 1, text: line.replace(/^\s*(#+|[-*]|\d+\.|>)\s+/, "") };
    } else if (paragraph === undefined) paragraph = { line: at + 1, text: line };
    else paragraph.text += `\n${line}`;
  }
  close();
  return found;
}
