import { messageOf } from "@xfn/errors";
import type { LiveObject } from "@xfn/kubernetes";
import type { Condition } from "../objects/conditions.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { ACTIVATION_POLICIES } from "../objects/kinds.ts";
import { referenceTo } from "../objects/references.ts";
import type { NotedPlan } from "../package/carry-out.ts";
import { stateOf } from "../package/managed/observed-state.ts";
import { planStatus } from "../package/plan-status.ts";
import type { Action } from "../plan/action.ts";
import { PARALLEL } from "../plan/in-parallel.ts";
import type { Plan } from "../plan/plan.ts";
import { matchesPattern } from "./match-pattern.ts";

const manager = FIELD_MANAGERS.managed;

/** The definitions that a policy activates, and the patterns that match nothing because they are not complete. */
export interface Activation {
  /** By name. */
  readonly definitions: readonly LiveObject[];
  readonly problems: readonly string[];
}

/** @param definitions all definitions */
export function activationOf(policy: LiveObject, definitions: readonly LiveObject[]): Activation {
  const problems: string[] = [];
  const patterns = ACTIVATION_POLICIES.of(policy).spec.activate.filter((pattern, index) => {
    try {
      matchesPattern(pattern, "");
      return true;
    } catch (error) {
      problems.push(`spec.activate[${index}]: ${messageOf(error)}`);
      return false;
    }
  });
  const matching = definitions.filter(({ metadata }) => patterns.some((one) => matchesPattern(one, metadata.name)));
  return { definitions: matching.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)), problems };
}

/** Plans the activation of definitions that are inactive, or have changed since they were observed. */
export function planActivation({ definitions }: Activation): Plan {
  const actions = definitions
    .filter((definition) => stateOf(definition) !== "Active")
    .map((seen): Action => {
      const change = { do: "patch", body: { spec: { state: "Active" } }, seen, guard: "uid" } as const;
      return { as: "own", manager, on: referenceTo(seen), why: "a policy activates it", ...change };
    });
  return { stages: [{ name: "activation", actions, onFailure: "collect", lanes: PARALLEL }] };
}

/** Plans the status of a policy. @param failures the problems of definitions that could not be activated, by name */
export function planPolicyStatus(
  policy: LiveObject,
  { definitions, problems }: Activation,
  failures: ReadonlyMap<string, string>,
  now: number,
): NotedPlan {
  const texts = [...problems, ...[...failures].map(([name, text]) => `${name}: ${text}`)];
  const healthy: Condition =
    texts.length === 0
      ? { type: "Healthy", status: "True", reason: "Running" }
      : { type: "Healthy", status: "Unknown", reason: "EncounteredErrors", message: texts.join("; ") };
  const names = definitions.map(({ metadata }) => metadata.name).filter((name) => !failures.has(name));
  const activated = names.length === 0 ? null : names;
  return planStatus(policy, { conditions: [healthy], fields: { activated } }, now, manager);
}
