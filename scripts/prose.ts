// Checks the English of comments, messages, test titles and documentation: npm run check:prose.
//
// Two rules, both from the style guide in CONTRIBUTING.md: no sentence over MAX_WORDS words, and none of the words
// for which the field has a term (docs/reference/glossary.md).
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "oxc-parser";

const ROOT = join(import.meta.dirname, "..");
const MAX_WORDS = 25;
const MAX_COMMENT_COLUMNS = 120;

/** Words and phrases that are not used, and what to write instead. */
const BANNED: readonly (readonly [RegExp, string])[] = [
  [/\b(?:is|are|was|were|be|been) told\b/i, "reported, logged, or the subject that reports"],
  [/\btells? of\b|\btold of\b/i, "report, emit, log"],
  [/\bearly sandbox(?:es)?\b/i, "pre-started sandbox, warm pool"],
  [/\brecipes?\b/i, "spec"],
  [/\bjudge[sd]?\b/i, "evaluate, classify"],
  [/\bstrangers?\b/i, "unclaimed, unknown, foreign"],
  [/\bwhoever\b/i, "name the subject: the caller, the controller"],
  [/\bnobody\b|\bsomebody\b/i, "name the subject: no caller, another writer"],
  [/\bis to be\b|\bare to be\b|\bare to have\b|\bis to have\b/i, "must"],
  [/\bmend(?:s|ed)?\b/i, "fix"],
  [/\btakes? away\b|\btaken away\b/i, "remove"],
  [/\bgoes for\b/i, "applies to"],
  [/\bin the words of\b|\bin words for\b/i, "name what is formatted"],
  [/\bof ours\b|\bof theirs\b/i, "ours, or the owner's name"],
  [/\bstands on\b|\bstand on\b/i, "is based on"],
  [/\bseed[- ]00\d\b|\bdesign\.md\b|\bdesign,? section\b/i, "a public source"],
];

/** The same as parts of identifiers. */
const BANNED_PARTS: ReadonlyMap<string, string> = new Map([
  ...["told", "tell", "tells"].map((part) => [part, "report, emit"] as const),
  ...["judge", "judges", "judged"].map((part) => [part, "evaluate, classify"] as const),
  ...["recipe", "recipes"].map((part) => [part, "spec"] as const),
  ...["stranger", "strangers"].map((part) => [part, "unclaimed"] as const),
  ...["mend", "mended"].map((part) => [part, "fix"] as const),
  ...["gate", "gates"].map((part) => [part, "interceptor, semaphore, barrier"] as const),
  ...["held", "holding"].map((part) => [part, "acquired, retained"] as const),
  ["unseen", "undelivered"],
  ["survey", "mark"],
  ["standing", "priority"],
]);

interface Text {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** Joins consecutive line comments, so that a sentence that spans lines is read as one. */
function commentsOf(file: string, source: string): Text[] {
  const { comments } = parseSync(file, source);
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

function lineAt(source: string, offset: number): number {
  let line = 1;
  for (let at = source.indexOf("\n"); at !== -1 && at < offset; at = source.indexOf("\n", at + 1)) line++;
  return line;
}

/** Messages and test titles: string and template literals with at least three words. */
function stringsOf(file: string, source: string): Text[] {
  const found: Text[] = [];
  visit(parseSync(file, source).program, (node) => {
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

function visit(value: unknown, look: (node: Readonly<Record<string, unknown>>) => void): void {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) look(value as Readonly<Record<string, unknown>>);
  for (const child of Object.values(value)) visit(child, look);
}

/** Paragraphs of a page: no code blocks, tables row by row and cell by cell. */
function paragraphsOf(file: string, source: string): Text[] {
  const found: Text[] = [];
  let fence = false;
  let paragraph: { line: number; text: string } | undefined;
  const close = (): void => {
    if (paragraph !== undefined) found.push({ file, ...paragraph });
    paragraph = undefined;
  };
  problems.push(...identifiersOf(file, source));
  for (const [at, line] of source.split("\n").entries()) {
    if (/^\s*(```|~~~)/.test(line)) {
      fence = !fence;
      close();
    } else if (fence || line.trim() === "" || /^\s*<!--/.test(line)) close();
    else if (line.startsWith("|")) {
      close();
      for (const cell of line.split(/(?<!\\)\|/)) found.push({ file, line: at + 1, text: cell });
    } else if (/^\s*(#|[-*] |\d+\. |> )/.test(line)) {
      close();
      paragraph = { line: at + 1, text: line.replace(/^\s*(#+|[-*]|\d+\.|>)\s+/, "") };
    } else if (paragraph === undefined) paragraph = { line: at + 1, text: line };
    else paragraph.text += `\n${line}`;
  }
  close();
  return found;
}

/** Sentences of a text, without code, links' addresses and quoted titles. */
function sentencesOf(text: string): string[] {
  const plain = text
    .replaceAll(/`[^`]*`/g, "code")
    .replaceAll(/\]\([^)]*\)/g, "]")
    .replaceAll(/\{@link [^}]*\}/g, "code")
    .replaceAll(/https?:\/\/\S+/g, "link")
    .replaceAll(/"[^"]*"/g, "quote");
  return plain
    .split(/(?<=[.!?:;])\s+|\n\s*\n|\n\s*(?:[-*]|\d+\.|@\w+)\s/)
    .map((sentence) => sentence.replaceAll(/\s+/g, " ").trim());
}

/** Declared and used names that have a banned part: `judgeExit`, `HELD_LEASE`. */
function identifiersOf(file: string, source: string): string[] {
  const found = new Map<string, string>();
  visit(parseSync(file, source).program, ({ type, name, start }) => {
    if ((type !== "Identifier" && type !== "PrivateIdentifier") || typeof name !== "string" || found.has(name)) return;
    for (const part of name.split(/(?<=[a-z0-9])(?=[A-Z])|_/)) {
      const instead = BANNED_PARTS.get(part.toLowerCase());
      if (instead !== undefined && typeof start === "number")
        found.set(name, `${file}:${lineAt(source, start)}: the name ${name}: write ${instead}`);
    }
  });
  return [...found.values()];
}

const wordsIn = (sentence: string): number => sentence.split(/\s+/).filter((word) => /\w/.test(word)).length;

function problemsOf({ file, line, text }: Text, sentences: boolean): string[] {
  const quoted = text.replaceAll(/`[^`]*`/g, "code");
  const found = BANNED.flatMap(([pattern, instead]) => {
    const [match] = pattern.exec(quoted) ?? [];
    return match === undefined ? [] : [`${file}:${line}: "${match}": write ${instead}`];
  });
  if (sentences)
    for (const sentence of sentencesOf(text)) {
      const words = wordsIn(sentence);
      if (words > MAX_WORDS)
        found.push(
          `${file}:${line}: a sentence of ${words} words; the limit is ${MAX_WORDS}: ${sentence.slice(0, 60)}...`,
        );
    }
  return found;
}

const skipped = ["**/node_modules/**", "**/dist/**", "**/testdata/**", "**/generated/**"];
const list = (...patterns: string[]): string[] => globSync(patterns, { cwd: ROOT, exclude: skipped }).toSorted();

const only = process.argv.slice(2);
const wanted = (file: string): boolean => only.length === 0 || only.some((prefix) => file.startsWith(prefix));
const problems: string[] = [];
for (const file of list("packages/**/*.ts", "test/**/*.ts", "scripts/*.ts", "examples/**/*.ts").filter(wanted)) {
  if (file === "scripts/prose.ts") continue;
  const source = readFileSync(join(ROOT, file), "utf8");
  for (const text of commentsOf(file, source)) problems.push(...problemsOf(text, true));
  for (const text of stringsOf(file, source)) problems.push(...problemsOf(text, false));
  problems.push(...identifiersOf(file, source));
  for (const [at, line] of source.split("\n").entries())
    if (line.length > MAX_COMMENT_COLUMNS && /^\s*(\/\/|\*|\/\*)/.test(line) && !/https?:/.test(line))
      problems.push(`${file}:${at + 1}: a comment line of ${line.length} columns; the limit is ${MAX_COMMENT_COLUMNS}`);
}
for (const file of list(
  "*.md",
  "docs/**/*.md",
  "packages/*/README.md",
  "examples/**/*.md",
  "proto/*.md",
  "test/**/*.md",
).filter(wanted)) {
  if (file === "CHANGELOG.md") continue;
  for (const text of paragraphsOf(file, readFileSync(join(ROOT, file), "utf8")))
    problems.push(...problemsOf(text, true));
}
for (const problem of problems) process.stdout.write(`${problem}\n`);
process.stdout.write(`${problems.length === 0 ? "no" : problems.length} problems of prose\n`);
process.exitCode = problems.length === 0 ? 0 : 1;
