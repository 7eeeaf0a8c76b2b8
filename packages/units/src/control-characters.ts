// C0 except tab and line feed, DEL, C1, line separators, and bidirectional controls. The latter make text read
// differently from what it says ("Trojan Source", CVE-2021-42574).
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/**
 * `text` with control characters shown as `\x1b` or `\u202e`. Tabs and line feeds stay. Terminals act on the others:
 * text of others could hide lines, change the title, or make the terminal answer as if the user had typed.
 */
export function escapeControls(text: string): string {
  return text.replace(CONTROL, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}
