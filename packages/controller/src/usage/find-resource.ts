import type { Client, LiveObject } from "@xfn/kubernetes";
import type { UsageResource } from "../kinds/usages.ts";
import { selectorText } from "../objects/labels.ts";
import { controllerOf } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { describeReference } from "../objects/references.ts";
import { UsageError } from "./usage-error.ts";
import { referenceOfResource } from "./used-object.ts";

/** An object of a usage, and whether a selector chose it just now. */
export interface FoundResource {
  readonly object: LiveObject;
  readonly isChosen: boolean;
}

/**
 * Reads an object of a usage. A selector chooses the first object, by name.
 *
 * @throws {UsageError}
 * @throws {ApiError}
 */
export async function findResource(
  client: Client,
  usage: LiveObject,
  resource: UsageResource,
  signal: AbortSignal,
): Promise<FoundResource> {
  const { apiVersion = "", kind = "", resourceRef, resourceSelector } = resource;
  const found = await client.kind(apiVersion, kind, { signal });
  const { namespace: own } = usage.metadata;
  // A user of one namespace must not protect, and so block, what all namespaces share.
  if (found.namespaced !== (own !== undefined)) {
    const [scope, needed] = found.namespaced ? ["namespaced", "Usage"] : ["cluster-scoped", "ClusterUsage"];
    throw new UsageError("WrongScope", `the kind ${kind} is ${scope}; create a ${needed} instead`);
  }
  const namespace = own && (resourceRef.namespace ?? resourceSelector.namespace ?? own);
  const named = referenceOfResource(usage, resource);
  if (named !== undefined) {
    const object = await findLive({ client }, named, signal);
    if (object !== undefined) return { object, isChosen: false };
    throw new UsageError("NotFound", `${describeReference(named)} does not exist`);
  }
  const { matchLabels, matchControllerRef } = resourceSelector;
  const labelSelector = selectorText(matchLabels);
  const { items } = await client.list(found, { labelSelector, signal, ...(namespace !== undefined && { namespace }) });
  const controller = controllerOf(usage)?.uid;
  const object = items.find((one) => !matchControllerRef || (controller && controllerOf(one)?.uid === controller));
  if (object !== undefined) return { object, isChosen: true };
  const same = matchControllerRef ? " and the controller of the usage" : "";
  throw new UsageError("NothingSelected", `no ${kind} has the labels ${JSON.stringify(labelSelector)}${same}`);
}
