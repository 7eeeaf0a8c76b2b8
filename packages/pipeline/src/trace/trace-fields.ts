import { type FieldPathSegment, formatFieldPath } from "@xfn/composition";
import { childOrigin, isLeaf, leafValue, type OriginTree } from "./compare.ts";
import { Hidden, type Masked } from "./masked.ts";
import type { TraceField, TraceOrigin } from "./trace.ts";

/**
 * The fields of an entry, each with its origin.
 *
 * @param fallback the origin of fields without a known one
 */
export function traceFields(
  parts: ReadonlyMap<string, Masked>,
  origins: ReadonlyMap<string, OriginTree>,
  fallback: TraceOrigin,
): TraceField[] {
  const fields: TraceField[] = [];
  const path: FieldPathSegment[] = [];

  function visit(part: string, value: Masked, origin: OriginTree | undefined): void {
    if (isLeaf(value)) {
      const shown = leafValue(value);
      fields.push({
        part,
        path: formatFieldPath(path),
        ...(value instanceof Hidden || shown === undefined ? { hidden: true } : { value: shown }),
        origin: isOrigin(origin) ? origin : fallback,
      });
      return;
    }
    const children: Iterable<[FieldPathSegment, Masked]> =
      value instanceof Map ? value : Array.isArray(value) ? value.entries() : [];
    for (const [segment, child] of children) {
      path.push(segment);
      visit(part, child, childOrigin(origin, segment));
      path.pop();
    }
  }

  for (const [part, value] of parts) visit(part, value, origins.get(part));
  return fields;
}

function isOrigin(origins: OriginTree | undefined): origins is TraceOrigin {
  return origins !== undefined && !Array.isArray(origins) && !(origins instanceof Map);
}
