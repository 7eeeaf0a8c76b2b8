import type { JsonObject } from "@xfn/json";
import { compile } from "../../cel/compile.ts";
import { Budget } from "../../cel/evaluate/budget.ts";
import { DYN, mapOf, STRING, struct, type Type } from "../../cel/values/type.ts";
import { CelMap, CelObject, type Entries, type Key, type Value } from "../../cel/values/value.ts";
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
 * @returns the guard, or the problem of the text
 */
export function compileGuard(text: string): Guard | { readonly problem: string } {
  const program = compile(text, { type: "bool", isDynamic: true, variables: VARIABLES });
  if ("problem" in program) return program;
  const { reads } = program;
  return {
    readsDesired: reads.has("desired"),
    evaluate({ observed, desired }) {
      const values = {
        observed: reads.has("observed") ? stateToCel(observed()) : undefined,
        desired: reads.has("desired") ? stateToCel(desired()) : undefined,
      };
      const outcome = program.evaluate(values, new Budget());
      if (outcome === undefined) return { failure: "it takes too many steps" };
      if ("failure" in outcome) return outcome;
      if (typeof outcome.value !== "boolean") return { failure: "its result is neither true nor false" };
      return { holds: outcome.value };
    },
  };
}

const ENTRY: Type = struct("entry", new Map([["resource", DYN]]));
const STATE: Type = struct(
  "state",
  new Map([
    ["composite", ENTRY],
    ["resources", mapOf(STRING, ENTRY)],
  ]),
);
const VARIABLES: ReadonlyMap<string, Type> = new Map([
  ["observed", STATE],
  ["desired", STATE],
]);

function stateToCel({ composite, resources }: GuardState): Value {
  const fields = new Map<string, Value>([
    ["composite", entryToCel(composite)],
    ["resources", new CelMap(entriesToCel(resources))],
  ]);
  return new CelObject(fields, STATE);
}

function entryToCel(resource: JsonObject): Value {
  return new CelObject(new Map([["resource", toCel(undefined, resource, new Map())]]), ENTRY);
}

/** Converts entries at their first use: most guards read none or one of them. */
function entriesToCel(resources: ReadonlyMap<string, JsonObject>): Entries {
  const entries = new Map<Key, Value>();
  return {
    size: resources.size,
    has: (name) => resources.has(String(name)),
    keys: () => resources.keys(),
    get(name) {
      const known = entries.get(name);
      const resource = resources.get(String(name));
      if (known !== undefined || resource === undefined) return known;
      const entry = entryToCel(resource);
      entries.set(name, entry);
      return entry;
    },
  };
}
