import { type JsonObject, listAt, objectsAt, textAt } from "@xfn/json";
import type { AuditedRequest } from "./audit-log.ts";

/** The namespace of the Roles of `deploy`. */
export const NAMESPACE = "crossplane-system";

/** Rights as `verb resource`, or in the namespace of a Role, `verb resource in NAMESPACE`. */
export interface Rights {
  /** Requests that were denied. */
  readonly forbidden: readonly AuditedRequest[];
  /** Rights that are granted, and neither used nor rare. */
  readonly unused: readonly string[];
  /** Rare rights that are used, or not granted. */
  readonly notRare: readonly string[];
}

/**
 * Compares the rights that roles grant with those that requests used.
 *
 * @param rare rights that a test does not use, with their use
 */
export function rightsOf(
  roles: readonly JsonObject[],
  requests: readonly AuditedRequest[],
  rare: Readonly<Record<string, string>>,
): Rights {
  const granted = [...new Set(roles.flatMap(grantsOf))];
  const used = new Set(
    requests.flatMap(({ verb, resource, namespace }) => [
      `${verb} ${resource}`,
      ...(namespace === undefined ? [] : [`${verb} ${resource} in ${namespace}`]),
    ]),
  );
  return {
    forbidden: requests.filter(({ isForbidden }) => isForbidden),
    unused: granted.filter((right) => !used.has(right) && !(right in rare)),
    notRare: Object.keys(rare).filter((right) => used.has(right) || !granted.includes(right)),
  };
}

function grantsOf(role: JsonObject): string[] {
  const place = textAt(role, "kind") === "Role" ? ` in ${NAMESPACE}` : "";
  return objectsAt(role, "rules").flatMap((rule) =>
    listAt(rule, "apiGroups").flatMap((group) =>
      listAt(rule, "resources").flatMap((resource) =>
        listAt(rule, "verbs").map((verb) => {
          const [plural, subresource] = String(resource).split("/");
          const whole = group === "" ? plural : `${plural}.${String(group)}`;
          return `${String(verb)} ${whole}${subresource === undefined ? "" : `/${subresource}`}${place}`;
        }),
      ),
    ),
  );
}
