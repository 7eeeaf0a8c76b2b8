import type { Definition } from "@xfn/composition/definition";
import type { JsonObject, KubernetesObject } from "@xfn/functionio";
import { isApiError, type LiveObject } from "@xfn/kubernetes";
import type { AppliedMemory } from "../composite/apply-changed.ts";
import type { Context } from "../context.ts";
import { controllerOf } from "../engine/owner.ts";
import { DEFINITIONS } from "../kinds.ts";
import { apiVersionOf, findLive } from "../read-objects.ts";
import { DEFINITION_MANAGER } from "./definition-crd.ts";

const ROLE = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" } as const;
const VIEW = ["get", "list", "watch"];
// No wildcard: it would grant verbs such as `escalate` or `use` that somebody may give a meaning to one day.
const EDIT = [...VIEW, "create", "update", "patch", "delete", "deletecollection"];

/**
 * The ClusterRoles that a definition brings, named and labelled as Crossplane does:
 *
 * - `...:aggregate-to-crossplane` lets the controller itself work with the composites and claims, their status and finalizers;
 * - `...:aggregate-to-edit` and `...:aggregate-to-view` are for people. Claims, which are namespaced, go into Kubernetes' own
 *   roles admin, edit and view as well, so that whoever may edit a namespace may claim in it. Composites do not.
 */
export function definitionRoles(definition: Definition, uid: string): KubernetesObject[] {
  const { group, names, claimNames } = definition.spec;
  const kinds = [names.plural, ...(claimNames === undefined ? [] : [claimNames.plural])];
  const rule = (resources: readonly string[], verbs: readonly string[]): JsonObject => ({
    apiGroups: [group],
    resources: [...resources],
    verbs: [...verbs],
  });
  const role = (suffix: string, labels: readonly string[], rules: JsonObject[]): KubernetesObject => ({
    ...ROLE,
    metadata: {
      name: `crossplane:composite:${definition.metadata.name ?? ""}:${suffix}`,
      labels: Object.fromEntries(labels.map((label) => [label, "true"])),
      ownerReferences: [owner(definition, uid)],
    },
    rules,
  });
  const roles = [
    role(
      "aggregate-to-crossplane",
      ["rbac.crossplane.io/aggregate-to-crossplane"],
      [
        rule(kinds, [...VIEW, "create", "update", "patch", "delete"]),
        rule(
          [...kinds.map((kind) => `${kind}/status`), ...kinds.map((kind) => `${kind}/finalizers`)],
          ["update", "patch"],
        ),
      ],
    ),
    role(
      "aggregate-to-edit",
      ["rbac.crossplane.io/aggregate-to-admin", "rbac.crossplane.io/aggregate-to-edit"],
      [rule(kinds, EDIT)],
    ),
    role("aggregate-to-view", ["rbac.crossplane.io/aggregate-to-view"], [rule(kinds, VIEW)]),
  ];
  if (claimNames === undefined) return roles;
  const claims = [claimNames.plural];
  const kubernetes = "rbac.authorization.k8s.io/aggregate-to";
  return [
    ...roles,
    role("claims-aggregate-to-edit", [`${kubernetes}-admin`, `${kubernetes}-edit`], [rule(claims, EDIT)]),
    role("claims-aggregate-to-view", [`${kubernetes}-view`], [rule(claims, VIEW)]),
  ];
}

/**
 * Keeps the roles of a definition. A server that does not let us grant them (Kubernetes refuses to grant what the granter may
 * not do itself) is told of by an event: the definition works for whoever is granted it otherwise.
 */
export async function keepRoles(
  context: Context,
  applied: AppliedMemory,
  object: LiveObject,
  definition: Definition,
  signal: AbortSignal,
): Promise<void> {
  for (const role of definitionRoles(definition, object.metadata.uid)) {
    const { name = "" } = role.metadata ?? {};
    try {
      const existing = await findLive(context, { ...ROLE, name }, signal);
      if (existing !== undefined && controllerOf(existing)?.uid !== object.metadata.uid) {
        const message = `the ClusterRole ${name} is not this definition's and is left as it is; delete it to have it made`;
        context.events.record(object, { type: "Warning", reason: "RoleOfAnother", message });
      } else await applied.apply(context.client, role, existing, { fieldManager: DEFINITION_MANAGER, signal });
    } catch (error) {
      if (!isApiError(error, "Forbidden")) throw error;
      const message = `the ClusterRole ${name} cannot be made: ${error.message}`;
      context.events.record(object, { type: "Warning", reason: "CannotGrant", message });
    }
  }
}

function owner({ metadata }: Definition, uid: string): JsonObject {
  return {
    apiVersion: apiVersionOf(DEFINITIONS),
    kind: DEFINITIONS.kind,
    name: metadata.name ?? "",
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}
