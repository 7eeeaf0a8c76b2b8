import { escapeControls } from "@xfn/program/terminal-text";

/**
 * Shortens a text for people to a maximum length. A longer text is cut, and ends with `...`. Escapes control
 * characters: functions, registries and other servers write parts of the text, and kubectl prints it to terminals.
 *
 * @param most UTF-16 code units
 */
export function shortened(message: string, most: number): string {
  const text = escapeControls(message);
  if (text.length <= most) return text;
  // Half of a surrogate pair has no UTF-8 encoding, so the API server would store a different text.
  return `${text.slice(0, most - 3).replace(/[\uD800-\uDBFF]$/, "")}...`;
}
