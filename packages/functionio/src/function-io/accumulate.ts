import { canonicalJson, firstDifference, formatPath, isObject, type JsonValue } from "@xfn/json";
import { type Desired, type FunctionIO, type Observed, type Result, severityOf } from "./functionio.ts";

/** The state after a step. */
export interface Accumulated {
  /** The desired state that the step returned, which is the input of the next step. */
  desired: Desired;
  /** The results of earlier steps, unchanged, then the results of this step. */
  results: Result[];
  /** Only the results of this step. */
  added: Result[];
  /** Problems with the output that have no effect or are probably mistakes. Each names the step. */
  warnings: Result[];
  /** The first fatal result. The pipeline ends, and nothing is applied or deleted. */
  fatal?: Result;
}

/** 20 dropped entries are named; the others are counted. */
const MAX_NAMED_DROPS = 20;

/**
 * Adds the output of a step to its input (Crossplane design document "Composition Functions", Function API).
 *
 * - `observed` is never taken from a function. A different one is a Warning that names the first differing path. A
 *   function can leave it out.
 * - `desired` is the step's output. A dropped entry is a Warning: its object then stays as it is.
 * - Results of earlier steps cannot be removed or changed.
 */
export function accumulate(before: FunctionIO, returned: FunctionIO, step: string): Accumulated {
  const earlier = before.results ?? [];
  const added = newResults(earlier, returned.results ?? []);
  const results = [...earlier, ...added];
  const fatal = results.find((result) => severityOf(result) === "Fatal");
  const warnings: Result[] = [];
  const changed = changedObserved(before.observed, returned.observed);
  if (changed !== undefined) {
    const message = `step "${step}" changed ${changed}; observed state is read-only, the change has no effect`;
    warnings.push({ severity: "Warning", message });
  }
  // After a fatal result nothing is applied, so dropped entries lose nothing.
  if (fatal === undefined) warnings.push(...droppedEntries(before.desired, returned.desired, step));
  return { desired: returned.desired ?? {}, results, added, warnings, ...(fatal && { fatal }) };
}

/** The results that are not copies of earlier ones. Each earlier result accounts for one equal result. */
function newResults(earlier: readonly Result[], returned: readonly Result[]): Result[] {
  if (earlier.length === 0) return [...returned];
  // Counted, not compared with each other: a function can return a million of them.
  const left = new Map<string, number>();
  for (const result of earlier) {
    const key = canonicalJson(result);
    left.set(key, (left.get(key) ?? 0) + 1);
  }
  return returned.filter((result) => {
    const key = canonicalJson(result);
    const copies = left.get(key) ?? 0;
    if (copies > 0) left.set(key, copies - 1);
    return copies === 0;
  });
}

function changedObserved(given: Observed, returned: Observed): string | undefined {
  if (given === returned || isBlank(returned)) return undefined;
  const { composite: givenComposite, resources: givenResources, ...givenRest } = given;
  const { composite, resources, ...rest } = returned;
  const difference =
    firstDifference(withoutBlanks(givenComposite), withoutBlanks(composite))?.toSpliced(0, 0, "composite") ??
    firstDifference(givenResources?.map(withoutBlanks), resources?.map(withoutBlanks))?.toSpliced(0, 0, "resources") ??
    firstDifference(givenRest, rest);
  return difference === undefined ? undefined : formatPath(["observed", ...difference]);
}

/** Whether a field is blank: many languages print omitted fields as null, {} or []. */
function isBlank(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null) return true;
  if (Array.isArray(value)) return value.every(isBlank);
  if (!isObject(value)) return false;
  for (const key in value) if (!isBlank(value[key])) return false;
  return true;
}

/** A shallow copy without blank fields: `connectionDetails: []` equals none. */
function withoutBlanks<T extends JsonValue | undefined>(value: T): T {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, field]) => !isBlank(field))) as T;
}

function droppedEntries(before: Desired | undefined, after: Desired | undefined, step: string): Result[] {
  const warn = (message: string): Result => ({ severity: "Warning", message });
  const warnings: Result[] = [];
  if (!isBlank(before?.composite) && isBlank(after?.composite)) {
    warnings.push(
      warn(`step "${step}" dropped desired.composite, which an earlier step had set; return what you are given`),
    );
  }
  const kept = new Set((after?.resources ?? []).map((entry) => entry.name));
  const dropped = (before?.resources ?? []).filter((entry) => !kept.has(entry.name));
  for (const { name } of dropped.slice(0, MAX_NAMED_DROPS)) {
    warnings.push(
      warn(
        `step "${step}" dropped the desired resource "${name}", which an earlier step had added; ` +
          `its object stays unchanged (return the entry, or set its resource to null to delete it)`,
      ),
    );
  }
  if (dropped.length > MAX_NAMED_DROPS) {
    warnings.push(warn(`step "${step}" dropped ${dropped.length - MAX_NAMED_DROPS} more desired resources`));
  }
  return warnings;
}
