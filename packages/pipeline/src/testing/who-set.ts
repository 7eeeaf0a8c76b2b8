import { FieldPathError, type FieldPathSegment, formatFieldPath } from "@xfn/composition";
import { originOf, type Trace, type TraceField, type TraceOrigin } from "../trace/index.ts";

/** The number of reported fields. The diff next to them shows all. */
const MAX_FIELDS = 10;
/** The number of reported origins of one object. */
const MAX_ORIGINS = 3;

/**
 * The origins of fields of a composed resource, one line each. Fields without an origin do not exist and are omitted.
 */
export function whoSet(trace: Trace, entry: string, paths: readonly (readonly FieldPathSegment[])[]): string[] {
  const lines = paths.slice(0, MAX_FIELDS).flatMap((segments) => {
    const path = formatFieldPath([...segments]);
    const origins = [...new Set(fieldsAt(trace, entry, path).map(({ origin }) => inWords(origin)))];
    if (origins.length === 0) return [];
    const more = origins.length > MAX_ORIGINS ? [`and ${origins.length - MAX_ORIGINS} more`] : [];
    return [`  ${path}: ${[...origins.slice(0, MAX_ORIGINS), ...more].join("; ")}`];
  });
  return lines.length === 0 ? [] : ["Who set what:", ...lines];
}

/** Not every key of data has a field path: the empty key has none, and neither has a very large index. */
function fieldsAt(trace: Trace, entry: string, path: string): TraceField[] {
  try {
    return originOf(trace, entry, path);
  } catch (error) {
    if (error instanceof FieldPathError) return [];
    throw error;
  }
}

function inWords({ step, template, source, from }: TraceOrigin): string {
  if (template === undefined) return `step ${step}`;
  const place = source === undefined ? "" : `, ${source}`;
  return `template ${template}${place}${from === undefined || from === "base" ? "" : ` (${from})`}`;
}
