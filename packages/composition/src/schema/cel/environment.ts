import type { Environment } from "@marcbachmann/cel-js";
import { celLibrary } from "./library.ts";
import { registerLists } from "./lists.ts";
import { registerNetwork } from "./network.ts";
import { registerQuantity } from "./quantities.ts";
import { registerStrings } from "./strings.ts";
import { registerUrls } from "./urls.ts";

/** The most nodes of one rule. Long rules in use have some hundred. The bound limits the library's recursion, too. */
const MAX_NODES = 2000;

/** The environments by their use. They have CEL's functions and those of Kubernetes. */
interface Environments {
  readonly rule: Environment;
  readonly optional: Environment;
  readonly guard: Environment;
}

let shared: Environments | undefined;

/**
 * The environment of validation rules, with `self` and `oldSelf`.
 *
 * @param optionalOldSelf - whether `oldSelf` is an optional, for rules with `optionalOldSelf: true`
 */
export function ruleEnvironment(optionalOldSelf: boolean): Environment {
  const { rule, optional } = environments();
  return optionalOldSelf ? optional : rule;
}

/** The environment of the guards of steps, with `observed` and `desired`. */
export function guardEnvironment(): Environment {
  return environments().guard;
}

/** Created for the first expression only, because it is slow. */
function environments(): Environments {
  shared ??= createEnvironments();
  return shared;
}

function createEnvironments(): Environments {
  const base = new (celLibrary().Environment)({
    // A list can mix items of unknown type with literals: `self.a in [self.b, "c"]`.
    homogeneousAggregateLiterals: false,
    enableOptionalTypes: true,
    limits: { maxAstNodes: MAX_NODES, maxDepth: 100 },
  });
  for (const register of [registerStrings, registerLists, registerQuantity, registerUrls, registerNetwork]) {
    register(base);
  }
  return {
    rule: base.clone().registerVariable("self", "dyn").registerVariable("oldSelf", "dyn"),
    optional: base.clone().registerVariable("self", "dyn").registerVariable("oldSelf", "optional<dyn>"),
    guard: base.clone().registerVariable("observed", "dyn").registerVariable("desired", "dyn"),
  };
}

/** Creates a duration in the library's form. The library does not export its class. */
export function durationOf(milliseconds: number): unknown {
  return ruleEnvironment(false).evaluate(`duration("${milliseconds}ms")`);
}
