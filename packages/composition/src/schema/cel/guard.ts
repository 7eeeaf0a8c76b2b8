import type { JsonObject } from "@xfn/functionio";
import { nodeOf } from "../structural/node.ts";
import { compileExpression } from "./compile-expression.ts";
import { guardEnvironment } from "./environment.ts";
import { Meter } from "./meter.ts";
import { toCel } from "./to-cel.ts";

/** Observed or desired state, as guards read it. */
export interface GuardState {
  /** The fields of the XR. */
  readonly composite: JsonObject;
  /** Composed resources by the names of their entries. */
  readonly resources: ReadonlyMap<string, JsonObject>;
}

/** The state that a guard is evaluated against. Called only for a variable that the guard has. */
export interface GuardInput {
  readonly observed: () => GuardState;
  readonly desired: () => GuardState;
}

/** The result of a guard, or why it has none. The failure contains no value of the state. */
export type GuardOutcome = { readonly holds: boolean } | { readonly failure: string };

/** A compiled guard. */
export interface Guard {
  /** Whether it reads `desired`, which changes from step to step. */
  readonly readsDesired: boolean;
  evaluate(input: GuardInput): GuardOutcome;
}

/**
 * Compiles the guard of a step: an expression with `observed` and `desired`, as function packages receive them,
 * such as `observed.composite.resource.spec.size > 3` and `"db" in desired.resources`. The cost of an evaluation has
 * the bound of a rule in a schema.
 *
 * @returns the guard, or what is wrong with the text
 */
export function compileGuard(text: string): Guard | { readonly problem: string } {
  let problem = "";
  const expression = compileExpression(
    text,
    [],
    { type: "bool", environment: guardEnvironment(), variables: VARIABLES },
    (finding) => {
      problem = finding.message;
    },
  );
  if (expression === undefined) return { problem };
  const reads = (variable: string): boolean =>
    expression.nodes.some(({ op, args }) => op === "id" && args === variable);
  const [readsObserved, readsDesired] = [reads("observed"), reads("desired")];
  return {
    readsDesired,
    evaluate({ observed, desired }) {
      const meter = new Meter();
      meter.start();
      const scope = {
        ...(readsObserved && { observed: stateToCel(observed()) }),
        ...(readsDesired && { desired: stateToCel(desired()) }),
      };
      const outcome = expression.evaluate(scope, meter);
      if (meter.exceeded) return { failure: "it takes too many steps" };
      if ("failure" in outcome) return outcome;
      if (typeof outcome.value !== "boolean") return { failure: "its result is neither true nor false" };
      return { holds: outcome.value };
    },
  };
}

const ENTRY: JsonObject = { type: "object", properties: { resource: { type: "object" } } };
const STATE = {
  schema: nodeOf(
    { type: "object", properties: { composite: ENTRY, resources: { type: "object", additionalProperties: ENTRY } } },
    [],
  ),
  resource: false,
};
const VARIABLES = new Map([
  ["observed", STATE],
  ["desired", STATE],
]);

function stateToCel({ composite, resources }: GuardState): ReadonlyMap<string, unknown> {
  return new Map([
    ["composite", entryToCel(composite)],
    ["resources", entriesToCel(resources)],
  ]);
}

function entryToCel(resource: JsonObject): ReadonlyMap<string, unknown> {
  return new Map([["resource", toCel(undefined, resource, new Map())]]);
}

/**
 * A map that converts entries at their first use: most guards read none or one of them. The library accepts no
 * subclass of Map.
 */
function entriesToCel(resources: ReadonlyMap<string, JsonObject>): ReadonlyMap<string, unknown> {
  const entries = new Map<string, unknown>([...resources.keys()].map((name) => [name, undefined]));
  const get = (name: string): unknown => {
    const known = Map.prototype.get.call(entries, name) as unknown;
    const resource = resources.get(name);
    if (known !== undefined || resource === undefined) return known;
    const entry = entryToCel(resource);
    entries.set(name, entry);
    return entry;
  };
  function* values(): Generator {
    for (const name of entries.keys()) yield get(name);
  }
  function* pairs(): Generator<[string, unknown]> {
    for (const name of entries.keys()) yield [name, get(name)];
  }
  return Object.assign(entries, { get, values, entries: pairs, [Symbol.iterator]: pairs });
}
