import { isObject, type JsonValue } from "@xfn/json";
import { NotImitated } from "./not-imitated.ts";

/** Selects values from a value. A missing field selects none. */
type Step = (value: JsonValue) => readonly JsonValue[];

type Part = { readonly text: string } | { readonly path: readonly Step[]; readonly body?: readonly Part[] };

/**
 * Prints a value as `kubectl get -o jsonpath=TEMPLATE` does: fields, indexes, filters that compare with a literal,
 * `range` and quoted text.
 *
 * @throws {NotImitated} for other syntax, and for what kubectl refuses, such as an index beyond the end
 */
export function printJsonPath(template: string, value: JsonValue): string {
  return print(parseTemplate(template), value);
}

function print(parts: readonly Part[], value: JsonValue): string {
  return parts
    .map((part) => {
      if ("text" in part) return part.text;
      const found = part.path.reduce<readonly JsonValue[]>((values, step) => values.flatMap(step), [value]);
      const { body } = part;
      return body === undefined ? found.map(text).join(" ") : found.map((item) => print(body, item)).join("");
    })
    .join("");
}

/** Go's encoder sorts keys and escapes the characters that have a meaning in HTML. */
function text(value: JsonValue): string {
  if (value === null) throw new NotImitated("null");
  if (typeof value !== "object") return String(value);
  return json(value).replaceAll(/[<>&]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
}

function json(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(json).join(",")}]`;
  if (typeof value === "bigint") return String(value);
  if (!isObject(value)) return JSON.stringify(value);
  const entries = Object.keys(value).toSorted();
  return `{${entries.map((key) => `${JSON.stringify(key)}:${json(value[key] ?? null)}`).join(",")}}`;
}

// A quoted text may have any character, and a path a brace in the quotes of a filter.
const ACTION = /\{((?:"[^"]*"|'[^']*'|[^{}"'])*)\}/y;

function parseTemplate(template: string): readonly Part[] {
  const whole: Part[] = [];
  const open: { path: readonly Step[]; body: Part[] }[] = [];
  const add = (part: Part): void => void (open.at(-1)?.body ?? whole).push(part);
  for (let at = 0; at < template.length; ) {
    if (template[at] !== "{") {
      const end = template.indexOf("{", at);
      add({ text: template.slice(at, end < 0 ? undefined : end) });
      at = end < 0 ? template.length : end;
      continue;
    }
    ACTION.lastIndex = at;
    const action = ACTION.exec(template)?.[1];
    if (action === undefined) throw new NotImitated(template);
    at = ACTION.lastIndex;
    if (action.startsWith('"')) add({ text: JSON.parse(action) as string });
    else if (action === "'\\n'") add({ text: "\n" });
    else if (action.startsWith("range ")) open.push({ path: parsePath(action.slice("range ".length)), body: [] });
    else if (action === "end") {
      const range = open.pop();
      if (range === undefined) throw new NotImitated(template);
      add(range);
    } else add({ path: parsePath(action) });
  }
  if (open.length > 0) throw new NotImitated(template);
  return whole;
}

const FIELD = /\.((?:\\.|[^.[\]\\{}()@'"\s])+)/y;
const SUBSCRIPT = /\[(?:(\*)|(\d+)|(-1:)|\?\(@((?:\.\w+)+)\s*==\s*(?:"([^"]*)"|'([^']*)'|(\d+))\))\]/y;

function parsePath(path: string): readonly Step[] {
  const steps: Step[] = [];
  for (let at = 0; at < path.length; ) {
    const pattern = path[at] === "." ? FIELD : SUBSCRIPT;
    pattern.lastIndex = at;
    const match = pattern.exec(path);
    if (match === null) throw new NotImitated(path);
    at = pattern.lastIndex;
    if (pattern === FIELD) steps.push(field((match[1] ?? "").replaceAll(/\\(.)/g, "$1")));
    else steps.push(subscript(match));
  }
  if (steps.length === 0) throw new NotImitated(path);
  return steps;
}

function field(name: string): Step {
  return (value) => {
    if (Array.isArray(value)) throw new NotImitated(`the field ${name} of a list`);
    const found = isObject(value) ? value[name] : undefined;
    return found === undefined ? [] : [found];
  };
}

function subscript([, all, index, , filtered, double, single, number]: RegExpExecArray): Step {
  const steps = filtered === undefined ? [] : parsePath(filtered);
  const wanted = double ?? single ?? Number(number);
  return (value) => {
    if (!Array.isArray(value)) throw new NotImitated("a subscript of something else than a list");
    if (all !== undefined) return value;
    if (filtered !== undefined) {
      return value.filter(
        (item) => steps.reduce<readonly JsonValue[]>((of, step) => of.flatMap(step), [item])[0] === wanted,
      );
    }
    const item = value.at(index === undefined ? -1 : Number(index));
    if (item === undefined) throw new NotImitated("an index beyond the end");
    return [item];
  };
}
