import { escapeControls } from "@xfn/program/terminal-text";

/** The colours of our own output. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminal sequences start with one
const OWN = /(\u001b\[[0-9;]*m)/;

/**
 * Escapes the control characters of a text, except for colours. Commands escape the text of others where
 * they print it; this is the last defence for a text that they missed.
 */
export function safeForTerminal(text: string): string {
  return text
    .split(OWN)
    .map((part, index) => (index % 2 === 1 ? part : escapeControls(part)))
    .join("");
}
