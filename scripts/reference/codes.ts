import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A code with the text of its doc comment, and its value if it is the key of a table. */
export interface Code {
  readonly code: string;
  readonly text: string;
  readonly value: string | undefined;
}

/**
 * Reads the codes of a declaration: the members of a union, or the keys of a table. Each must have a doc comment, or an
 * item in the list of the declaration's own doc comment.
 *
 * @param file below `packages`
 * @param name of the type or the constant
 */
export function codesOf(file: string, name: string): Code[] {
  const source = readFileSync(join(import.meta.dirname, "../../packages", file), "utf8");
  const declaration = new RegExp(`^(?:export )?(?:type|const) ${name} = ?(.*?)(?:;$|^})`, "ms").exec(source);
  const [, body = ""] = declaration ?? [];
  const [before = ""] = /\/\*\*(?:(?!\*\/).)*\*\/\n$/s.exec(source.slice(0, declaration?.index)) ?? [];
  const listed = new Map(
    [...before.matchAll(/^ \* - `(\w+)`: (.*)$/gm)].map(([, code = "", text = ""]) => [code, text]),
  );
  const members = body.matchAll(/(?:\/\*\*(.*?)\*\/\s*)?(?:\| "(\w+)"|(\w+): (\w+),)/gs);
  return [...members].map(([, comment, member, key, value]) => {
    const code = member ?? key ?? "";
    const text = comment?.replaceAll(/\s*\n\s*\* ?|\s+/g, " ").trim() ?? listed.get(code);
    if (text === undefined) throw new Error(`${file}: ${name}: ${code} has no doc comment for docs/reference`);
    return { code, text, value };
  });
}
