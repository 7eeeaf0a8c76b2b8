import { Environment } from "@marcbachmann/cel-js";
import { registerLists } from "./lists.ts";
import { registerNetwork } from "./network.ts";
import { registerQuantity } from "./quantities.ts";
import { registerStrings } from "./strings.ts";
import { registerUrls } from "./urls.ts";

/** Nodes of one rule; the longest rules that people write have some hundred. It also bounds the library's recursion. */
const MAX_NODES = 2000;

let shared: { readonly plain: Environment; readonly optional: Environment } | undefined;

/**
 * Kubernetes' functions on top of CEL's own, with `self` and `oldSelf`. Made once, when the first rule is compiled: it
 * takes a while.
 *
 * @param optionalOldSelf - whether `oldSelf` is an optional, for rules with `optionalOldSelf: true`
 */
export function ruleEnvironment(optionalOldSelf: boolean): Environment {
  shared ??= createEnvironments();
  return optionalOldSelf ? shared.optional : shared.plain;
}

function createEnvironments(): NonNullable<typeof shared> {
  const base = new Environment({
    // Elements of unknown type meet literals: `self.a in [self.b, "c"]`.
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

/** A duration of so many milliseconds, in the library's form, whose class it does not give away. */
export function durationOf(milliseconds: number): unknown {
  return ruleEnvironment(false).evaluate(`duration("${milliseconds}ms")`);
}
