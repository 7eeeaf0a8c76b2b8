const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/**
 * `JSON.parse`, with the keys that the text has. V8 (13.6 and 14.6, https://github.com/nodejs/node/issues/63785) compares a key that
 * has an escape with the one that came next in an earlier object of the same beginning, as if it had none: after
 * `{"x":1,"\\":1}` it takes `{"x":1,"\n":2}` for one with the same keys. So such keys are put into the text without their escapes,
 * and given their names afterwards.
 *
 * @throws SyntaxError as `JSON.parse` does
 */
export function nativeJson(text: string): unknown {
  const keys = escapedKeys(text);
  if (keys.length === 0) return JSON.parse(text);
  const mark = newMark(text);
  const parts: string[] = [];
  let from = 0;
  for (const [index, { start, end }] of keys.entries()) {
    parts.push(text.slice(from, start), `"${mark}${index}"`);
    from = end;
  }
  parts.push(text.slice(from));
  const value: unknown = JSON.parse(parts.join(""));
  // A string that is no key is read as it should be.
  const names = new Map(
    keys.map(({ start, end }, index) => [mark + index, JSON.parse(text.slice(start, end)) as string]),
  );
  restoreKeys(value, names);
  return value;
}

/** Whether a key of this text has an escape. In a text without backslashes it is found out at once. */
export function hasEscapedKey(text: string): boolean {
  return escapedKeys(text, 1).length > 0;
}

/** A text that is not in the other one and is none that its escapes can spell, for it cannot be guessed. */
export function newMark(text: string): string {
  let mark: string;
  do mark = `${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}:`;
  while (text.includes(mark));
  return mark;
}

/** Where keys with escapes are, quotes included. Each string that has an escape is looked at once, from there on. */
function escapedKeys(text: string, most: number = Infinity): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = [];
  let at = text.indexOf("\\");
  while (at !== -1 && found.length < most) {
    const start = text.lastIndexOf('"', at);
    let end = at;
    while (end < text.length && text.charCodeAt(end) !== QUOTE) end += text.charCodeAt(end) === BACKSLASH ? 2 : 1;
    end++;
    let next = end;
    while (isSpace(text.charCodeAt(next))) next++;
    if (text.charCodeAt(next) === COLON) found.push({ start, end });
    at = text.indexOf("\\", end);
  }
  return found;
}

function isSpace(character: number): boolean {
  return character === 0x20 || character === 0x0a || character === 0x0d || character === 0x09;
}

// Without recursion: nobody has looked yet how deep it is.
function restoreKeys(root: unknown, names: ReadonlyMap<string, string>): void {
  const left: unknown[] = [root];
  for (let value = left.pop(); value !== undefined; value = left.pop()) {
    if (typeof value !== "object" || value === null) continue;
    if (!Array.isArray(value) && Object.keys(value).some((key) => names.has(key))) rename(value, names);
    for (const child of Object.values(value)) if (typeof child === "object" && child !== null) left.push(child);
  }
}

/** Takes all properties out and puts them in again, so that they stay in their order; of two of one name the last counts. */
function rename(object: object, names: ReadonlyMap<string, string>): void {
  const entries = Object.entries(object) as [string, unknown][];
  for (const [key] of entries) Reflect.deleteProperty(object, key);
  for (const [key, value] of entries) {
    // Not an assignment: the name may be __proto__.
    const property = { value, writable: true, enumerable: true, configurable: true };
    Object.defineProperty(object, names.get(key) ?? key, property);
  }
}
