import { escapeControls } from "@xfn/program/terminal-text";

/**
 * A text for people that is not longer than a bound. A longer one is cut, and ends with `...`. Control characters are
 * escaped: functions, registries and other servers write parts of it, and kubectl prints it to terminals.
 *
 * @param most UTF-16 code units
 */
export function shortened(message: string, most: number): string {
  const text = escapeControls(message);
  if (text.length <= most) return text;
  // Half of a surrogate pair has no UTF-8, so the API server would store another text than it was sent.
  return `${text.slice(0, most - 3).replace(/[\uD800-\uDBFF]$/, "")}...`;
}
