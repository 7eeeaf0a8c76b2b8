import type { Meter } from "./meter.ts";

// What we use of the library's syntax trees (version 8.0.0; the tests of rules fail if it changes).

/** A node of an expression. */
export interface Node {
  readonly op: string;
  readonly args: unknown;
  readonly meta: NodeMeta;
  evaluate: Evaluate;
}

type Evaluate = (evaluator: unknown, node: unknown, context: unknown) => unknown;

interface NodeMeta {
  readonly evaluate?: Evaluate;
  /** What a macro such as `all` was expanded to. */
  readonly alternate?: Node;
  /** A macro that evaluates itself, such as `has`. */
  readonly macro?: { readonly evaluate: Evaluate };
}

/** Every node of an expression, without recursion. */
export function allNodes(root: unknown): Node[] {
  const nodes: Node[] = [];
  const seen = new Set<unknown>();
  const next: unknown[] = [root];
  while (next.length > 0) {
    const value = next.pop();
    if (typeof value !== "object" || value === null || seen.has(value)) continue;
    seen.add(value);
    if (Array.isArray(value)) next.push(...(value as unknown[]));
    else if (isNode(value)) {
      nodes.push(value);
      next.push(value.args, value.meta.alternate, value.meta.macro);
    } else if (isPlain(value)) {
      // The arguments of a comprehension, or of a macro.
      next.push(...Object.values(value));
    }
  }
  return nodes;
}

function isNode(value: object): value is Node {
  return "op" in value && "args" in value && "meta" in value && "evaluate" in value;
}

function isPlain(value: object): value is Record<string, unknown> {
  return Object.getPrototypeOf(value) === Object.prototype;
}

/**
 * Makes every evaluation of every node count. The library has no bound of its own on the time that an expression takes:
 * `l.all(a, l.all(b, l.all(c, ...)))` takes the size of the list to the power of the loops.
 */
export function meterNodes(nodes: readonly Node[], meter: () => Meter): void {
  for (const node of nodes) {
    const { meta } = node;
    // The library chooses between these three at the first evaluation and then replaces the node's function, and ours.
    node.evaluate = (evaluator, _node, context) => {
      meter().check();
      let result: unknown;
      if (meta.alternate !== undefined) result = meta.alternate.evaluate(evaluator, meta.alternate, context);
      else if (meta.macro !== undefined) result = meta.macro.evaluate(evaluator, meta.macro, context);
      else if (meta.evaluate !== undefined) result = meta.evaluate(evaluator, node, context);
      meter().count(result);
      return result;
    };
  }
}

// The library's versions run on JavaScript's regular expressions, which take exponential time, build texts without bound, or
// change more than ASCII letters. A function cannot be replaced in it, so calls are led to ours under another name.
const REPLACED: ReadonlyMap<string, string> = new Map([
  ["matches", "re2_matches"],
  ["join", "bounded_join"],
  ["upperAscii", "ascii_upper"],
  ["lowerAscii", "ascii_lower"],
]);

/** Leads calls of functions that we replace to ours. Before the expression is checked. */
export function replaceCalls(nodes: readonly Node[]): void {
  for (const { op, args } of nodes) {
    if ((op !== "rcall" && op !== "call") || !Array.isArray(args)) continue;
    const ours = REPLACED.get(String(args[0]));
    if (ours !== undefined) (args as unknown[])[0] = ours;
  }
}
