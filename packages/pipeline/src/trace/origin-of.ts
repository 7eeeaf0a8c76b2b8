import { formatFieldPath, parseFieldPath } from "@xfn/composition";
import type { Trace, TraceField } from "./trace.ts";

/**
 * The desired fields at or below a path, each with its origin. Empty if no such field is desired.
 *
 * @param resource the name of the entry; null for the XR
 * @param path a field path, such as `spec.forProvider.region`; "" for all fields
 * @param part of the entry; see {@link TraceField}
 * @throws {FieldPathError} `Syntax`
 */
export function originOf(trace: Trace, resource: string | null, path: string, part = "resource"): TraceField[] {
  // The same path can be written with different quotes and brackets.
  const wanted = formatFieldPath(parseFieldPath(path));
  const entry = trace.desired.find(({ name }) => name === resource);
  return (entry?.fields ?? []).filter((field) => field.part === part && isWithin(field.path, wanted));
}

function isWithin(path: string, parent: string): boolean {
  if (parent === "" || path === parent) return true;
  return path.startsWith(parent) && (path[parent.length] === "." || path[parent.length] === "[");
}
