/** A node of a syntax tree of `oxc-parser`. */
export type Node = Readonly<Record<string, unknown>>;

/** Whether a value is a node, or a list of nodes. */
export function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null;
}

/** Calls `look` for a node and for all nodes below it. */
export function visit(value: unknown, look: (node: Node) => void): void {
  if (!isNode(value)) return;
  look(value);
  for (const child of Object.values(value)) visit(child, look);
}
