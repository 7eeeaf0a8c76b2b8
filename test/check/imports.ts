import { globSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join, relative } from "node:path";
import { parseSync } from "oxc-parser";
import { CHECKOUT } from "../harness/paths.ts";
import { isNode, type Node, visit } from "./syntax-nodes.ts";

/** An import of any kind: `import`, `export from`, `import()`, `import("x").T`, `import.meta.resolve("x")`. */
export interface Import {
  /** The importing file, relative to the checkout. */
  readonly file: string;
  readonly specifier: string;
}

/** The fields of a package.json that these tests read. */
export interface Manifest {
  readonly name: string;
  readonly exports?: Readonly<Record<string, { readonly types?: string; readonly default?: string } | string>>;
  readonly files?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** Reads the package.json of a folder of the checkout. */
export function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(CHECKOUT, folder, "package.json"), "utf8")) as Manifest;
}

const found = new Map<string, readonly string[]>();

/** Returns the files that match, relative to the checkout, sorted. */
export function files(...patterns: string[]): string[] {
  const key = patterns.join("\n");
  const known = found.get(key) ?? globSync(patterns, { cwd: CHECKOUT, exclude: isSkipped }).toSorted();
  found.set(key, known);
  return [...known];
}

function isSkipped(name: string): boolean {
  return ["node_modules", "dist", "testdata"].includes(name.replace(/.*\//, ""));
}

const parsed = new Map<string, readonly Import[]>();

/** Returns the imports of a file, each specifier once. Several tests ask for the same file. */
export function importsOf(file: string): readonly Import[] {
  const imports = parsed.get(file) ?? parseImports(file);
  parsed.set(file, imports);
  return imports;
}

/** A text without these has imports and exports at its top alone, which the parser lists. */
const NESTED_IMPORT = /\bimport\s*\(|\bimport\.meta\.resolve\b/;

function parseImports(file: string): Import[] {
  const text = readFileSync(join(CHECKOUT, file), "utf8");
  const result = parseSync(file, text);
  if (result.errors.length > 0) throw new Error(`${file}: ${result.errors[0]?.message}`);
  const { staticImports, staticExports } = result.module;
  const specifiers = [
    ...staticImports.map((one) => one.moduleRequest.value),
    ...staticExports.flatMap((one) => one.entries.flatMap((entry) => entry.moduleRequest?.value ?? [])),
  ];
  // The tree of a file takes far longer to build than its list.
  if (NESTED_IMPORT.test(text)) specifiers.push(...nestedSpecifiers(result.program));
  return [...new Set(specifiers)].map((specifier) => ({ file, specifier }));
}

function nestedSpecifiers(program: unknown): string[] {
  const specifiers: string[] = [];
  visit(program, (node) => {
    const source = node["type"] === "ImportExpression" || node["type"] === "TSImportType" ? node["source"] : undefined;
    const named = source ?? resolved(node);
    if (isNode(named) && typeof named["value"] === "string") specifiers.push(named["value"]);
  });
  return specifiers;
}

/** The argument of `import.meta.resolve`. */
function resolved({ type, callee, arguments: given }: Node): unknown {
  if (type !== "CallExpression" || !isNode(callee) || !isNode(callee["object"]) || !isNode(callee["property"])) return;
  const isResolve = callee["object"]["type"] === "MetaProperty" && callee["property"]["name"] === "resolve";
  return isResolve && Array.isArray(given) ? given[0] : undefined;
}

/** Whether a specifier names a file rather than a package. */
export function isRelative(specifier: string): boolean {
  return specifier.startsWith(".") || specifier.startsWith("/");
}

/** Resolves a relative import to a file, relative to the checkout. */
export function targetOf({ file, specifier }: Import): string {
  return join(dirname(file), specifier);
}

/** Returns the package that a bare specifier names, or undefined for a built-in module of Node. */
export function packageOf(specifier: string): string | undefined {
  if (isBuiltin(specifier)) return undefined;
  const parts = specifier.split("/");
  return parts.slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}

/** Returns these files and all files that they reach through relative imports. */
export function closureOf(entries: readonly string[]): string[] {
  const reached = new Set<string>();
  const queue = [...entries];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    queue.push(
      ...importsOf(file)
        .filter(({ specifier }) => isRelative(specifier))
        .map(targetOf),
    );
  }
  return [...reached].map((file) => relative("", file)).toSorted();
}

/** The circles in a graph: each node that can reach itself, with the shortest way back, once per set of nodes. */
export function circlesIn(edges: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const circles = new Map<string, string>();
  for (const start of edges.keys()) {
    const way = wayBack(edges, start);
    if (way !== undefined) circles.set(way.toSorted().join(), [...way, start].join(" -> "));
  }
  return [...circles.values()];
}

function wayBack(edges: ReadonlyMap<string, ReadonlySet<string>>, start: string): string[] | undefined {
  const ways: string[][] = [[start]];
  const seen = new Set<string>();
  for (const way of ways) {
    for (const next of edges.get(way.at(-1) ?? start) ?? []) {
      if (next === start) return way;
      if (!seen.has(next)) ways.push([...way, next]);
      seen.add(next);
    }
  }
  return undefined;
}
