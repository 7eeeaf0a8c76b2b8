import type { GuardState } from "@xfn/composition";
import type { Desired, Observed } from "@xfn/functionio";
import type { JsonObject } from "@xfn/json";

/**
 * Observed or desired state for a guard. Entries that desire a deletion are left out, as for function packages.
 * Connection details are left out, too: they are secrets.
 */
export function guardState({ composite, resources = [] }: Observed | Desired): GuardState {
  return {
    composite: composite?.resource ?? {},
    resources: new Map(
      resources.flatMap(({ name, resource }): [string, JsonObject][] => (resource === null ? [] : [[name, resource]])),
    ),
  };
}
