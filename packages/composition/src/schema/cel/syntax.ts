import type { Meter } from "./meter.ts";

// The parts of the library's syntax trees that we use (version 8.0.0). If they change, tests of rules fail.

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
  /** The expansion of a macro such as `all`. */
  readonly alternate?: Node;
  /** A macro that evaluates itself, such as `has`. */
  readonly macro?: { readonly evaluate: Evaluate };
}

/** Visits every node of an expression, without recursion. */
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
 * Counts every evaluation of every node. The library has no bound on the time of an expression:
 * `l.all(a, l.all(b, l.all(c, ...)))` takes the size of the list to the power of the loops.
 */
export function meterNodes(nodes: readonly Node[], meter: () => Meter): void {
  for (const node of nodes) {
    const { meta } = node;
    // The library chooses one of these three at the first evaluation. It then replaces the node's function, and ours.
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

// The library's versions use JavaScript's regular expressions, which can take exponential time, create texts without
// bound, or change more than ASCII letters. The library cannot replace a function, so calls are renamed to ours.
const REPLACED: ReadonlyMap<string, string> = new Map([
  ["matches", "re2_matches"],
  ["join", "bounded_join"],
  ["upperAscii", "ascii_upper"],
  ["lowerAscii", "ascii_lower"],
]);

/** Renames calls of replaced functions. Runs before the expression is checked. */
export function replaceCalls(nodes: readonly Node[]): void {
  for (const { op, args } of nodes) {
    if ((op !== "rcall" && op !== "call") || !Array.isArray(args)) continue;
    const ours = REPLACED.get(String(args[0]));
    if (ours !== undefined) (args as unknown[])[0] = ours;
  }
}
