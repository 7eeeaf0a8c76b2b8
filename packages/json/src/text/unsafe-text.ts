// Functions and files of others control much of what is printed for people, and a terminal or editor acts on some
// characters: DEL and the C1 controls, line separators, and bidirectional controls, which make text read differently
// from what it says ("Trojan Source", CVE-2021-42574). JSON has escapes for the other controls.
const UNSAFE = /[\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;
const ALL_UNSAFE = new RegExp(UNSAFE, "g");

/** Whether a text has characters that a terminal or editor acts on, other than the controls that JSON escapes. */
export function isUnsafe(text: string): boolean {
  return UNSAFE.test(text);
}

/**
 * Escapes such characters in JSON text, or in YAML text that has them in double quotes only. The text keeps its
 * meaning.
 */
export function escapeUnsafe(text: string): string {
  return text.replace(ALL_UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
