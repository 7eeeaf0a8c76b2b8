import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "oxc-parser";
import { expect, test } from "vitest";
import { CHECKOUT } from "../harness/paths.ts";
import { files } from "./imports.ts";
import { isNode, visit } from "./syntax-nodes.ts";

// Every error class has the shape that CONTRIBUTING.md requires. Its `name` recognises it even if two copies of a
// module are loaded. Callers branch on its `code`, and its constructor passes `cause` on.
const MEMBERS = ["name", "code", "retryable"] as const;

interface ErrorClass {
  readonly at: string;
  readonly name: string;
  readonly parent: string;
  readonly members: ReadonlySet<string>;
  /** Undefined without a constructor. */
  readonly passesCause: boolean | undefined;
}

const CLASSES = files("packages/*/src/**/*.ts")
  .filter((file) => !file.endsWith(".test.ts"))
  .flatMap(errorClassesOf);

test("there are error classes to look at", () => {
  expect(CLASSES.length).toBeGreaterThan(20);
});

test.each(CLASSES)(
  "$name ($at) has a name, a code, retryable and a cause",
  ({ name, parent, members, passesCause }) => {
    const inherited = CLASSES.find((other) => other.name === parent);
    const has = (member: string): boolean => members.has(member) || inherited?.members.has(member) === true;
    expect(MEMBERS.filter((member) => !has(member))).toEqual([]);
    expect(passesCause ?? inherited?.passesCause ?? true).toBe(true);
    expect(name).toMatch(/Error$|^FatalResult$/);
  },
);

function errorClassesOf(file: string): ErrorClass[] {
  const found: ErrorClass[] = [];
  visit(parseSync(file, readFileSync(join(CHECKOUT, file), "utf8")).program, (node) => {
    const parent = identifier(node["superClass"]);
    const name = identifier(node["id"]);
    if (!/Class/.test(String(node["type"])) || name === undefined || parent?.endsWith("Error") !== true) return;
    found.push({ at: file, name, parent, ...shapeOf(node["body"]) });
  });
  return found;
}

function shapeOf(body: unknown): Pick<ErrorClass, "members" | "passesCause"> {
  const members = new Set<string>();
  let passesCause: boolean | undefined;
  visit(body, (node) => {
    const { type, key, left, kind, callee } = node;
    const own = identifier(key);
    if (/PropertyDefinition/.test(String(type)) && own !== undefined) members.add(own);
    if (type === "MethodDefinition" && kind === "get" && own !== undefined) members.add(own);
    if (type === "MethodDefinition" && kind === "constructor") passesCause ??= false;
    if (
      type === "AssignmentExpression" &&
      isNode(left) &&
      isNode(left["object"]) &&
      left["object"]["type"] === "ThisExpression"
    )
      members.add(identifier(left["property"]) ?? "");
    if (type === "CallExpression" && isNode(callee) && callee["type"] === "Super")
      passesCause = Array.isArray(node["arguments"]) && node["arguments"].length > 1;
  });
  return { members, passesCause };
}

function identifier(node: unknown): string | undefined {
  return isNode(node) && typeof node["name"] === "string" ? node["name"] : undefined;
}
