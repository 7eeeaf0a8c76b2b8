// Go maps case by Unicode's simple mappings: each character to one character, regardless of its neighbours. JavaScript
// uses the full mappings ("ß" to "SS", a final sigma). Both agree where a single character maps to a single character.

const ASCII = /^[\u0000-\u007f]*$/;

/** `strings.ToUpper`. */
export function upperCase(text: string): string {
  return ASCII.test(text) ? text.toUpperCase() : map(text, upperRune);
}

/** `strings.ToLower`. */
export function lowerCase(text: string): string {
  return ASCII.test(text) ? text.toLowerCase() : map(text, lowerRune);
}

function map(text: string, change: (character: string) => string): string {
  let out = "";
  // Bytes that are not valid UTF-8 become U+FFFD, as in strings.Map.
  for (const character of text.toWellFormed()) out += change(character);
  return out;
}

function upperRune(character: string): string {
  const upper = character.toUpperCase();
  return isOneRune(upper) ? upper : (GREEK_TITLE.get(character) ?? character);
}

function lowerRune(character: string): string {
  // The only character whose full lower case has two.
  return character === "\u0130" ? "i" : character.toLowerCase();
}

function isOneRune(text: string): boolean {
  return text.length === 1 || (text.length === 2 && text.codePointAt(0) !== text.charCodeAt(0));
}

/** Greek letters with iota below: their full upper case has two letters, their simple one is the title case letter. */
const GREEK_TITLE: ReadonlyMap<string, string> = greekTitles();

function greekTitles(): Map<string, string> {
  const titles = new Map<string, string>();
  for (const from of [0x1f80, 0x1f90, 0x1fa0]) {
    for (let code = from; code < from + 8; code++) titles.set(String.fromCharCode(code), String.fromCharCode(code + 8));
  }
  for (const code of [0x1fb3, 0x1fc3, 0x1ff3]) titles.set(String.fromCharCode(code), String.fromCharCode(code + 9));
  return titles;
}
