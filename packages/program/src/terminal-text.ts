// Images and functions decide much of what is printed to a terminal, which acts on control characters; and bidirectional overrides
// make text read differently from what it says (CVE-2021-42574). So none of them pass.
const CONTROL = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

// An error's text with a path or two.
const MAX_LENGTH = 2000;

/** A text for one line of a terminal: control characters are shown as escapes, and the length is bounded. */
export function oneLine(text: string): string {
  const line = text.replace(CONTROL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return line.length <= MAX_LENGTH ? line : `${line.slice(0, MAX_LENGTH)}...`;
}
