// Functions, images and files control much of the output to a terminal, which acts on control characters. They can hide
// lines, change the title, or make the terminal answer as if the user had typed.
// Escape C0 (except tab and line feed), DEL, C1, line separators, and bidirectional overrides. The latter make text
// read differently from what it says ("Trojan Source", CVE-2021-42574).
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

// Long enough for an error message with several paths.
const MAX_LENGTH = 2000;

/** `text` with control characters shown as `\x1b` or `\u202e`. Tabs and line feeds stay. */
export function escapeControls(text: string): string {
  return text.replace(CONTROL, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/** Escapes control characters, joins the lines with spaces, and cuts the text after `limit` characters. */
export function oneLine(text: string, limit: number = MAX_LENGTH): string {
  const line = escapeControls(text.trim().replace(/\s*\r?\n\s*/g, " "));
  return line.length <= limit ? line : `${line.slice(0, limit)}...`;
}
