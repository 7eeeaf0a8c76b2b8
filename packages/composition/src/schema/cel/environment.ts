import { Environment } from "@marcbachmann/cel-js";
import { registerLists } from "./lists.ts";
import { registerNetwork } from "./network.ts";
import { registerQuantity } from "./quantities.ts";
import { registerStrings } from "./strings.ts";
import { registerUrls } from "./urls.ts";

/** The most nodes of one rule. Long rules in use have some hundred. The bound limits the library's recursion, too. */
const MAX_NODES = 2000;

let shared: { readonly plain: Environment; readonly optional: Environment } | undefined;

/**
 * CEL's functions and those of Kubernetes, with `self` and `oldSelf`. Created for the first rule only, because it is
 * slow.
 *
 * @param optionalOldSelf - whether `oldSelf` is an optional, for rules with `optionalOldSelf: true`
 */
export function ruleEnvironment(optionalOldSelf: boolean): Environment {
  shared ??= createEnvironments();
  return optionalOldSelf ? shared.optional : shared.plain;
}

function createEnvironments(): NonNullable<typeof shared> {
  const base = new Environment({
    // A list can mix items of unknown type with literals: `self.a in [self.b, "c"]`.
    homogeneousAggregateLiterals: false,
    enableOptionalTypes: true,
    limits: { maxAstNodes: MAX_NODES, maxDepth: 100 },
  });
  base.registerVariable("self", "dyn");
  for (const register of [registerStrings, registerLists, registerQuantity, registerUrls, registerNetwork]) {
    register(base);
  }
  return {
    plain: base.clone().registerVariable("oldSelf", "dyn"),
    optional: base.clone().registerVariable("oldSelf", "optional<dyn>"),
  };
}

/** Creates a duration in the library's form. The library does not export its class. */
export function durationOf(milliseconds: number): unknown {
  return ruleEnvironment(false).evaluate(`duration("${milliseconds}ms")`);
}
