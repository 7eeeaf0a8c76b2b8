import type { Definition } from "@xfn/composition/definition";
import type { JsonObject, KubernetesObject } from "@xfn/functionio";
import { isApiError, type LiveObject } from "@xfn/kubernetes";
import type { AppliedMemory } from "../objects/apply-changed.ts";
import type { Context } from "../objects/context.ts";
import { DEFINITIONS } from "../objects/kinds.ts";
import { controllerOf } from "../objects/owner.ts";
import { apiVersionOf, findLive } from "../objects/read-objects.ts";
import { DEFINITION_MANAGER } from "./definition-crd.ts";

const ROLE = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" } as const;
const VIEW = ["get", "list", "watch"];
// No wildcard: it would grant verbs such as `escalate` or `use` that somebody may give a meaning to one day.
const EDIT = [...VIEW, "create", "update", "patch", "delete"];

/**
 * The ClusterRoles that a definition brings for people, labelled so that others are made up of them. Whoever may edit or view a
 * namespace may claim in it, or see its claims, by Kubernetes' own roles admin, edit and view. Composites, which belong to no
 * namespace, go with those of Crossplane's labels. What the controller itself may do its deployment says: nobody can grant
 * what he has not got.
 */
export function definitionRoles(definition: Definition, uid: string): KubernetesObject[] {
  const { group, names, claimNames } = definition.spec;
  const role = (
    suffix: string,
    labels: readonly string[],
    resource: string,
    verbs: readonly string[],
  ): KubernetesObject => ({
    ...ROLE,
    metadata: {
      name: `crossplane:composite:${definition.metadata.name ?? ""}:${suffix}`,
      labels: Object.fromEntries(labels.map((label) => [label, "true"])),
      ownerReferences: [owner(definition, uid)],
    },
    rules: [{ apiGroups: [group], resources: [resource], verbs: [...verbs] }],
  });
  const crossplane = "rbac.crossplane.io/aggregate-to";
  const kubernetes = "rbac.authorization.k8s.io/aggregate-to";
  return [
    role("aggregate-to-edit", [`${crossplane}-admin`, `${crossplane}-edit`], names.plural, EDIT),
    role("aggregate-to-view", [`${crossplane}-view`], names.plural, VIEW),
    ...(claimNames === undefined
      ? []
      : [
          role("claims-aggregate-to-edit", [`${kubernetes}-admin`, `${kubernetes}-edit`], claimNames.plural, EDIT),
          role("claims-aggregate-to-view", [`${kubernetes}-view`], claimNames.plural, VIEW),
        ]),
  ];
}

/** What a process remembers of one definition; it only saves requests and events. */
export interface DefinitionMemory {
  readonly applied: AppliedMemory;
  /** What was told of roles that cannot be made. */
  readonly told: Set<string>;
}

/**
 * Keeps the roles of a definition. Where they cannot be made (Kubernetes lets nobody grant what he may not do himself) an event
 * says so, once: the definition works for whoever is granted it otherwise.
 */
export async function keepRoles(
  context: Context,
  memory: DefinitionMemory,
  object: LiveObject,
  definition: Definition,
  signal: AbortSignal,
): Promise<void> {
  const tell = (reason: string, message: string): void => {
    if (memory.told.has(message)) return;
    memory.told.add(message);
    context.events.record(object, { type: "Warning", reason, message });
  };
  for (const role of definitionRoles(definition, object.metadata.uid)) {
    const { name = "" } = role.metadata ?? {};
    try {
      const existing = await findLive(context, { ...ROLE, name }, signal);
      if (existing !== undefined && controllerOf(existing)?.uid !== object.metadata.uid) {
        tell(
          "RoleOfAnother",
          `the ClusterRole ${name} is not this definition's and is left as it is; delete it to have it made`,
        );
      } else await memory.applied.apply(context.client, role, existing, { fieldManager: DEFINITION_MANAGER, signal });
    } catch (error) {
      if (!isApiError(error, "Forbidden")) throw error;
      tell("CannotGrant", `the ClusterRole ${name} cannot be made: ${error.message}`);
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
