import type { GuardState } from "@xfn/composition";
import type { Desired, Observed } from "@xfn/functionio";
import type { JsonObject } from "@xfn/json";

// Connection details are left out: they are secrets.

/** Observed state for a guard. */
export function observedFor({ composite, resources = [] }: Observed): GuardState {
  return {
    composite: composite?.resource ?? {},
    resources: new Map(resources.map(({ name, resource }) => [name, resource])),
  };
}

/** Desired state for a guard. Entries that desire a deletion are left out, as for function packages. */
export function desiredFor({ composite, resources = [] }: Desired): GuardState {
  return {
    composite: composite?.resource ?? {},
    resources: new Map(
      resources.flatMap(({ name, resource }): [string, JsonObject][] => (resource === null ? [] : [[name, resource]])),
    ),
  };
}
