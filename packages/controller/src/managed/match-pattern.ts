/** One character of a name, or any text. */
type Item = "any text" | ((character: string) => boolean);

/**
 * Whether a name matches a pattern of an activation policy: `*` stands for any text, `?` for one character, and `[a-c]`
 * for one of a class, as in Go's `filepath.Match`. The time is proportional to the product of the lengths.
 *
 * @throws {SyntaxError} the pattern is not complete
 */
export function matchesPattern(pattern: string, name: string): boolean {
  const items = itemsOf(pattern);
  const characters = [...name];
  /** Where to continue if the text of the last `*` must be longer. */
  let retry: { item: number; character: number } | undefined;
  let [item, character] = [0, 0];
  while (character < characters.length) {
    const wanted = items[item];
    if (wanted === "any text") {
      item += 1;
      retry = { item, character };
    } else if (wanted?.(characters[character] ?? "")) {
      item += 1;
      character += 1;
    } else if (retry === undefined) return false;
    else {
      retry = { item: retry.item, character: retry.character + 1 };
      ({ item, character } = retry);
    }
  }
  return items.slice(item).every((one) => one === "any text");
}

function itemsOf(pattern: string): Item[] {
  const text = [...pattern];
  const items: Item[] = [];
  let index = 0;
  const next = (): string => {
    const character = text[index++];
    if (character === undefined) throw new SyntaxError(`the pattern ${JSON.stringify(pattern)} is not complete`);
    return character;
  };
  const literal = (): string => {
    const character = next();
    return character === "\\" ? next() : character;
  };
  while (index < text.length) {
    if (text[index] === "*" || text[index] === "?") items.push(next() === "*" ? "any text" : () => true);
    else if (text[index] === "[") {
      next();
      const isNegated = text[index] === "^" && next() === "^";
      const ranges: [string, string][] = [];
      do {
        const first = literal();
        const hasEnd = text[index] === "-" && next() === "-";
        ranges.push([first, hasEnd ? literal() : first]);
      } while (text[index] !== "]");
      next();
      items.push((one) => ranges.some(([low, high]) => low <= one && one <= high) !== isNegated);
    } else {
      const wanted = literal();
      items.push((one) => one === wanted);
    }
  }
  return items;
}
