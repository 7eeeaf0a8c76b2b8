import { BANNED } from "./words.ts";

const MAX_WORDS = 25;

/** A comment, message, test title or paragraph. */
export interface Text {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** Sentences of a text, without code, links' addresses and quoted titles. */
export function sentencesOf(text: string): string[] {
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

const wordsIn = (sentence: string): number => sentence.split(/\s+/).filter((word) => /\w/.test(word)).length;

/** @param sentences whether to check the length of sentences too */
export function problemsOf({ file, line, text }: Text, sentences: boolean): string[] {
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
