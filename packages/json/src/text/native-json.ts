const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/**
 * `JSON.parse` with correct keys. V8 (13.6 and 14.6, https://github.com/nodejs/node/issues/63785) compares a key with
 * an escape to the next key of an earlier object as if it had no escape: after `{"x":1,"\\":1}` it reads a line feed
 * key with the keys of the first object. So this function writes such keys without escapes. A key that needs them
 * gets another name, which is restored afterwards.
 *
 * @throws SyntaxError as `JSON.parse` does
 */
export function nativeJson(text: string): unknown {
  const keys = escapedKeys(text);
  if (keys.length === 0) return JSON.parse(text);
  const mark = newMark(text);
  const parts: string[] = [];
  const names = new Map<string, string>();
  let from = 0;
  for (const { start, end } of keys) {
    // A string that is not a key parses correctly.
    const key = JSON.parse(text.slice(start, end)) as string;
    let written = key;
    if (NEEDS_ESCAPES.test(key)) names.set((written = mark + names.size), key);
    parts.push(text.slice(from, start), '"', written, '"');
    from = end;
  }
  parts.push(text.slice(from));
  const value: unknown = JSON.parse(parts.join(""));
  if (names.size > 0) restoreKeys(value, names);
  return value;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON does not allow them without an escape
const NEEDS_ESCAPES = /["\\\u0000-\u001f]/;

/** Whether a key of this text has an escape. Returns at once for a text without backslashes. */
export function hasEscapedKey(text: string): boolean {
  return escapedKeys(text, 1).length > 0;
}

/** A text that the other text does not contain, even escaped, and that cannot be guessed. */
export function newMark(text: string): string {
  let mark: string;
  do mark = `${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}:`;
  while (text.includes(mark));
  return mark;
}

/** The positions of keys with escapes, including quotes. Each string with an escape is scanned once. */
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

// Not recursive: the depth has not been checked yet.
function restoreKeys(root: unknown, names: ReadonlyMap<string, string>): void {
  const left: unknown[] = [root];
  for (let value = left.pop(); value !== undefined; value = left.pop()) {
    if (typeof value !== "object" || value === null) continue;
    if (!Array.isArray(value) && Object.keys(value).some((key) => names.has(key))) rename(value, names);
    for (const child of Object.values(value)) if (typeof child === "object" && child !== null) left.push(child);
  }
}

/** Removes all properties and adds them again, which preserves their order. A later duplicate of a name wins. */
function rename(object: object, names: ReadonlyMap<string, string>): void {
  const entries = Object.entries(object) as [string, unknown][];
  for (const [key] of entries) Reflect.deleteProperty(object, key);
  for (const [key, value] of entries) {
    // Not an assignment: the name can be __proto__.
    const property = { value, writable: true, enumerable: true, configurable: true };
    Object.defineProperty(object, names.get(key) ?? key, property);
  }
}
