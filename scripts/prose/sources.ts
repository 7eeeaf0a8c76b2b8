import { type Comment, type Program, parseSync } from "oxc-parser";
import { echoesOf } from "./echoes.ts";
import { lineAt } from "./positions.ts";
import { problemsOf, sentencesOf, type Text } from "./texts.ts";
import { BANNED_PARTS } from "./words.ts";

const MAX_COMMENT_COLUMNS = 120;
const OPENER = /^(?:(?:[-*]|\d+\.) )?(What|Whatever|Who|Whoever|Of)\b/;

/** The problems of the comments, strings and names of a source in TypeScript. */
export function problemsInSource(file: string, source: string): string[] {
  const { comments, program } = parseSync(file, source);
  return [
    ...commentsOf(file, source, comments).flatMap((text) => [...problemsOf(text, true), ...openersOf(text)]),
    ...echoesOf(file, source, comments),
    ...stringsOf(file, source, program).flatMap((text) => problemsOf(text, false)),
    ...identifiersOf(file, source, program),
    ...wideCommentsOf(file, source),
  ];
}

/** Joins consecutive line comments, so that a sentence that spans lines is read as one. */
function commentsOf(file: string, source: string, comments: readonly Comment[]): Text[] {
  const found: { line: number; endLine: number; kind: string; text: string }[] = [];
  for (const { type, value, start, end } of comments) {
    const line = lineAt(source, start);
    const endLine = lineAt(source, end);
    const previous = found.at(-1);
    if (type === "Line" && previous?.kind === "Line" && previous.endLine === line - 1) {
      previous.text += `\n${value}`;
      previous.endLine = endLine;
    } else found.push({ line, endLine, kind: type, text: value.replaceAll(/^\s*\*+/gm, "") });
  }
  return found.map(({ line, text }) => ({ file, line, text }));
}

/** Sentences that begin with a pronoun or a preposition instead of their subject. */
function openersOf({ file, line, text }: Text): string[] {
  return sentencesOf(text).flatMap((sentence) => {
    const [, match] = OPENER.exec(sentence) ?? [];
    return match === undefined ? [] : [`${file}:${line}: a sentence opens with "${match}": name the subject`];
  });
}

/** Messages and test titles: string and template literals with at least three words. */
function stringsOf(file: string, source: string, program: Program): Text[] {
  const found: Text[] = [];
  visit(program, (node) => {
    const { type, value, start } = node;
    const text =
      type === "Literal"
        ? value
        : type === "TemplateElement" && typeof value === "object" && value !== null && "cooked" in value
          ? value.cooked
          : undefined;
    if (typeof text === "string" && typeof start === "number" && / \w+ \w/.test(text))
      found.push({ file, line: lineAt(source, start), text });
  });
  return found;
}

/** Declared and used names that have a banned part: `judgeExit`, `HELD_LEASE`. */
function identifiersOf(file: string, source: string, program: Program): string[] {
  const found = new Map<string, string>();
  visit(program, ({ type, name, start }) => {
    if ((type !== "Identifier" && type !== "PrivateIdentifier") || typeof name !== "string" || found.has(name)) return;
    for (const part of name.split(/(?<=[a-z0-9])(?=[A-Z])|_/)) {
      const instead = BANNED_PARTS.get(part.toLowerCase());
      if (instead !== undefined && typeof start === "number")
        found.set(name, `${file}:${lineAt(source, start)}: the name ${name}: write ${instead}`);
    }
  });
  return [...found.values()];
}

function visit(value: unknown, look: (node: Readonly<Record<string, unknown>>) => void): void {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) look(value as Readonly<Record<string, unknown>>);
  for (const child of Object.values(value)) visit(child, look);
}

function wideCommentsOf(file: string, source: string): string[] {
  return source.split("\n").flatMap((line, at) => {
    if (line.length <= MAX_COMMENT_COLUMNS || !/^\s*(\/\/|\*|\/\*)/.test(line) || /https?:/.test(line)) return [];
    return [`${file}:${at + 1}: a comment line of ${line.length} columns; the limit is ${MAX_COMMENT_COLUMNS}`];
  });
}
