import type { LiveObject } from "@xfn/kubernetes";
import { type Condition, isTrue } from "../objects/conditions.ts";
import { MANAGED_DEFINITIONS, PROVIDER_REVISIONS, PROVIDER_RUNTIMES } from "../objects/kinds.ts";
import type { Reader } from "../objects/read-objects.ts";
import { startsSafely } from "../package/managed/managed-definition.ts";
import { DEFINITION_CACHE, stateOf } from "../package/managed/observed-state.ts";
import { RUNTIME_ACTIVE } from "../package/package-conditions.ts";
import type { Hosting } from "../package/package-port.ts";
import { revisionsOf } from "./served-resources.ts";

/**
 * Whether the program of a runtime must run. `awaiting`: it has no pods until one of its kinds is active. `pending`:
 * that is not known yet, because the objects of its package are being established.
 */
export type Activation = "active" | "awaiting" | "pending";

/**
 * Decides whether the program of a provider must run, as in Crossplane: one that can start without its kinds does not
 * run before the first of them is active. Once it has run, it is not stopped.
 */
export function activationOf(
  { cluster, hosting }: { readonly cluster: Reader; readonly hosting: Pick<Hosting, "convertsCrds"> },
  runtime: LiveObject,
): Activation {
  if (runtime.kind !== PROVIDER_RUNTIMES.kind || !hosting.convertsCrds || isTrue(runtime, RUNTIME_ACTIVE))
    return "active";
  const revisions = revisionsOf(cluster, runtime).map((revision) => PROVIDER_REVISIONS.of(revision).status);
  if (revisions.length === 0) return "active";
  const established = revisions.filter((status) => status.toJSON()["objectRefs"] !== undefined);
  if (established.length === 0) return "pending";
  if (!established.some(({ capabilities }) => startsSafely(capabilities))) return "active";
  const definitions = cluster.informers.peek(MANAGED_DEFINITIONS, DEFINITION_CACHE);
  const states = established
    .flatMap(({ objectRefs }) => objectRefs)
    .filter(({ kind }) => kind === MANAGED_DEFINITIONS.kind)
    .map(({ name = "" }) => definitions?.get(name))
    .map((definition) => definition && stateOf(definition));
  if (states.length === 0 || states.includes("Active")) return "active";
  return states.includes(undefined) ? "pending" : "awaiting";
}

/** The conditions of a runtime that tell whether its program runs. */
export function activationConditions(runtime: LiveObject, activation: Activation): Condition[] {
  const type = RUNTIME_ACTIVE;
  if (runtime.kind !== PROVIDER_RUNTIMES.kind || activation === "pending") return [];
  if (activation === "active") return [{ type, status: "True", reason: "ActiveRuntime" }];
  const message = "the program has no pods until the first ManagedResourceDefinition of the provider is active";
  return [{ type, status: "False", reason: "AwaitingActivation", message }];
}
