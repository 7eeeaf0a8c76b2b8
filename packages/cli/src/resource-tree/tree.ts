import { type JsonObject, listAt, textOrEmpty } from "@xfn/json";

/** An object with the objects that it refers to. */
export interface TreeNode {
  /** As the server has it; of an object that could not be read, only its reference. */
  readonly object: JsonObject;
  /** Why it could not be read. */
  readonly error?: string;
  readonly children: readonly TreeNode[];
  /** Its events, the newest last. Absent: they were not asked for. */
  readonly events?: readonly TreeEvent[];
}

/** An event of an object. */
export interface TreeEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  /** RFC 3339. */
  readonly lastSeen: string;
}

/** A condition of an object. */
export interface Condition {
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** The condition of a type; empty texts where there is none. */
export function conditionOf(object: JsonObject, type: string): Condition {
  const found = listAt(object, "status", "conditions").find((one) => textOrEmpty(one, "type") === type);
  return {
    status: textOrEmpty(found, "status"),
    reason: textOrEmpty(found, "reason"),
    message: textOrEmpty(found, "message"),
  };
}

/** All nodes, parents before children. */
export function allNodes(node: TreeNode): readonly TreeNode[] {
  return [node, ...node.children.flatMap(allNodes)];
}
