/**
 * A text that is not longer than a bound. A longer one is cut, and ends with `...`.
 *
 * @param most UTF-16 code units
 */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  // Half of a surrogate pair has no UTF-8, so the API server would store another text than it was sent.
  return `${text.slice(0, most - 3).replace(/[\uD800-\uDBFF]$/, "")}...`;
}
