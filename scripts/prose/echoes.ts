import type { Comment } from "oxc-parser";
import { lineAt } from "./positions.ts";

const KEYWORDS =
  "export|default|declare|abstract|static|async|override|readonly|private|protected|public|get|set|class|interface|type|const|let|enum|function";
const DECLARATION = new RegExp(String.raw`^\s*(?:(?:${KEYWORDS})\s+)*[*\s]*["'#]?([A-Za-z_$][\w$-]*)`);

/** Words that add nothing to a name. */
const FILLERS: ReadonlySet<string> = new Set(
  "a an the this that one its of to in on for with by at from as and or is are".split(" "),
);

/** Doc comments of which each word is in the name below, such as "The key of a pair." for `pairKey`. */
export function echoesOf(file: string, source: string, comments: readonly Comment[]): string[] {
  return comments.flatMap(({ type, value, start, end }) => {
    // Code, tags, links and numbers say more than the name.
    if (type !== "Block" || !value.startsWith("*") || /[`@\d]/.test(value)) return [];
    const [, name] = DECLARATION.exec(source.slice(end, end + 400)) ?? [];
    if (name === undefined) return [];
    const parts = new Set(name.split(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_$-]+/).map(stemOf));
    const words = value.match(/[a-z]+/gi) ?? [];
    const isEcho = words.every((word) => FILLERS.has(word.toLowerCase()) || parts.has(stemOf(word)));
    return isEcho ? [`${file}:${lineAt(source, start)}: the comment repeats the name ${name}: delete it`] : [];
  });
}

/** Equal for the forms of most words: `dependency` and `dependencies`, `compile` and `compiled`. */
function stemOf(word: string): string {
  return word
    .toLowerCase()
    .replace(/ies$/, "y")
    .replace(/(?<=..)(?:es|s|ed|ing|d|e)$/, "");
}
