import { createHash } from "node:crypto";
import type { KubernetesObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { CLUSTER_USAGES } from "../kinds/usages.ts";
import type { ApplyCache } from "../objects/apply-cache.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { PROVIDERS, referenceOf, typeMeta } from "../objects/kinds.ts";
import { LABEL_PACKAGE, labelValue } from "../objects/labels.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import type { Action } from "../plan/action.ts";

/** On the ClusterUsages that protect providers: the name of the definition whose kind has objects. */
export const LABEL_DEFINITION = "apiextensions.crossplane.io/mrd";
/** `"true"` on ClusterUsages that protect providers. */
const LABEL_PROTECTION = "crossplane.io/provider-protection";

/** A definition whose kind has objects, and the provider that works on them. */
export interface Protected {
  readonly definition: string;
  readonly provider: string;
}

/** The name of the ClusterUsage of a definition, as in Crossplane. */
export function usageName(definition: string): string {
  return `provider-protection-${createHash("sha256").update(definition).digest("hex").slice(0, 52)}`;
}

/** The ClusterUsage of a provider. */
function usageOf({ definition, provider }: Protected): KubernetesObject {
  const of = { ...typeMeta(PROVIDERS), resourceRef: { name: provider } };
  return {
    ...typeMeta(CLUSTER_USAGES),
    metadata: {
      name: usageName(definition),
      labels: {
        [LABEL_PROTECTION]: "true",
        [LABEL_PACKAGE]: labelValue(provider),
        [LABEL_DEFINITION]: labelValue(definition),
      },
    },
    spec: { of, reason: `the provider has managed resources of the kind ${definition}` },
  };
}

/**
 * Plans the ClusterUsage of a definition.
 *
 * @param wanted undefined if its kind has no objects
 */
export function planProtection(
  definition: string,
  wanted: Protected | undefined,
  existing: LiveObject | undefined,
  applies: Pick<ApplyCache, "isApplied">,
): Action | undefined {
  const manager = FIELD_MANAGERS.protection;
  const common = { as: "own", manager, on: referenceOf(CLUSTER_USAGES, usageName(definition)) } as const;
  if (wanted === undefined) {
    if (existing === undefined || isBeingDeleted(existing)) return undefined;
    return { ...common, why: "its kind has no objects", do: "delete", seen: existing, guard: "uid" };
  }
  const intent = usageOf(wanted);
  if (existing !== undefined && applies.isApplied(intent, existing, { fieldManager: manager })) return undefined;
  return { ...common, why: "its kind has objects", do: "apply", intent, seen: existing, guard: "uid" };
}
