import { objectsAt, textAt } from "@xfn/json";
import type { LiveObject, Reconcile, ResourceKind } from "@xfn/kubernetes";
import { CLUSTER_USAGES } from "../kinds/usages.ts";
import { ApplyCache } from "../objects/apply-cache.ts";
import type { ManagedWatches } from "../objects/context.ts";
import { MANAGED_DEFINITIONS, PROVIDER_REVISIONS, referenceOf } from "../objects/kinds.ts";
import { controllerOf, isBeingDeleted } from "../objects/owner.ts";
import { findCached, findLive } from "../objects/read-objects.ts";
import { DEFINITION_CACHE, stateOf } from "../package/managed/observed-state.ts";
import { executeOne } from "../plan/execute.ts";
import { type Protected, planProtection, usageName } from "./plan-protection.ts";
import type { ManagedPort } from "./reconcile-managed.ts";

/**
 * Protects providers from deletion while one of their kinds has objects, with a ClusterUsage for each such kind. The
 * key is the name of a ManagedResourceDefinition.
 */
export function protectionReconciler(port: ManagedPort, watches: ManagedWatches): Reconcile {
  const applies = new ApplyCache();
  return async (name, signal) => {
    const definitions = port.informers.peek(MANAGED_DEFINITIONS, DEFINITION_CACHE);
    if (definitions === undefined) return undefined;
    const definition = definitions.get(name);
    const isActive = definition !== undefined && !isBeingDeleted(definition) && stateOf(definition) === "Active";
    if (!isActive) watches.forget(name);
    else if (!watches.isWatched(name)) {
      const kind = await kindOf(port, name, signal);
      if (kind !== undefined) watches.watch(name, kind);
    }
    const hasObjects = isActive ? watches.hasObjects(name) : false;
    // The watch reports the first list.
    if (hasObjects === undefined) return undefined;
    const wanted = hasObjects && definition !== undefined ? await protectedBy(port, definition, signal) : undefined;
    if (hasObjects && wanted === undefined) return undefined;
    const usage = await findCached(port, CLUSTER_USAGES, usageName(name), signal);
    const action = planProtection(name, wanted, usage, applies);
    const written = await executeOne(port, action, signal);
    if (action?.do === "apply" && written !== undefined)
      applies.record(action.intent, written, { fieldManager: action.manager });
    return undefined;
  };
}

/** Undefined for a definition of no provider. */
async function protectedBy(
  port: ManagedPort,
  definition: LiveObject,
  signal: AbortSignal,
): Promise<Protected | undefined> {
  const controller = controllerOf(definition);
  const revision = controller && (await findCached(port, PROVIDER_REVISIONS, controller.name, signal));
  const provider = revision && controllerOf(revision)?.name;
  return provider === undefined ? undefined : { definition: definition.metadata.name, provider };
}

/** The kind of a definition, in the version in which objects are stored. */
async function kindOf(port: ManagedPort, name: string, signal: AbortSignal): Promise<ResourceKind | undefined> {
  const definition = await findLive(port, referenceOf(MANAGED_DEFINITIONS, name), signal);
  if (definition === undefined) return undefined;
  const served = objectsAt(definition, "spec", "versions").filter((one) => one["served"] === true);
  const version = textAt(served.find((one) => one["storage"] === true) ?? served[0], "name");
  const { group = "", names } = MANAGED_DEFINITIONS.of(definition).spec;
  if (version === undefined) return undefined;
  const namespaced = textAt(definition, "spec", "scope") === "Namespaced";
  return { group, version, kind: names.kind ?? "", plural: names.plural ?? "", namespaced };
}
