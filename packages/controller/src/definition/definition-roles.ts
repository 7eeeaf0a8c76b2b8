import { type Definition, isNamespaced } from "@xfn/composition/definition";
import type { KubernetesObject } from "@xfn/json";
import { isApiError, type LiveObject } from "@xfn/kubernetes";
import type { ApplyCache } from "../objects/apply-cache.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { CLUSTER_ROLES, PUBLICATIONS, referenceOf, typeMeta } from "../objects/kinds.ts";
import { LABEL_DEFINED } from "../objects/labels.ts";
import { controllerReferenceTo, isControlledBy } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { referenceTo } from "../objects/references.ts";
import type { Action } from "../plan/action.ts";
import { executeOne } from "../plan/execute.ts";
import type { DefinitionMemory, DefinitionPort } from "./definition-port.ts";

/** The verbs for readers of a kind. */
export const VIEW: readonly string[] = ["get", "list", "watch"];
/**
 * The verbs for writers of a kind. No wildcard: it would also grant verbs with a special meaning, such as `escalate`
 * and `use`.
 */
export const EDIT: readonly string[] = [...VIEW, "create", "update", "patch", "delete"];

// The prefixes of aggregation labels. A ClusterRole with such a label becomes part of the role that the label names.
const CROSSPLANE = "rbac.crossplane.io/aggregate-to";
const KUBERNETES = "rbac.authorization.k8s.io/aggregate-to";

/** The kinds of a definition that the API server serves for its CRDs. Undefined: the roles stay as they are. */
export interface ServedKinds {
  readonly composites: boolean | undefined;
  readonly claims: boolean | undefined;
}

const ALL_SERVED: ServedKinds = { composites: true, claims: true };

/**
 * The ClusterRoles of a definition or a publication, for users. Roles for a kind that is not served have no rules: a
 * CRD of another owner may have the names of the definition. Kubernetes' roles admin, edit and view get the namespaced
 * kinds, so that an editor of a namespace can create them there. Only Crossplane's roles get cluster-scoped composites.
 * The controller's own roles come from its deployment: in Kubernetes, no client can grant more rights than it has
 * ("Using RBAC Authorization").
 */
function definitionRoles(object: LiveObject, definition: Definition, served: ServedKinds): KubernetesObject[] {
  const { group, names, claimNames, scope } = definition.spec;
  const local = (...roles: string[]): string[] =>
    isNamespaced(scope) ? roles.map((name) => `${KUBERNETES}-${name}`) : [];
  const role = (suffix: string, labels: readonly string[], plural: string, verbs: readonly string[]) => {
    const isServed = served[plural === names.plural ? "composites" : "claims"];
    if (isServed === undefined) return [];
    const metadata = {
      name: `crossplane:composite:${object.metadata.name}:${suffix}`,
      labels: Object.fromEntries([...labels, LABEL_DEFINED].map((label) => [label, "true"])),
      ownerReferences: [controllerReferenceTo(object)],
    };
    const rules = isServed ? [{ apiGroups: [group], resources: [plural], verbs: [...verbs] }] : [];
    return [{ ...typeMeta(CLUSTER_ROLES), metadata, rules }];
  };
  const offered =
    claimNames === undefined
      ? []
      : [
          ...role("claims-aggregate-to-edit", [`${KUBERNETES}-admin`, `${KUBERNETES}-edit`], claimNames.plural, EDIT),
          ...role("claims-aggregate-to-view", [`${KUBERNETES}-view`], claimNames.plural, VIEW),
        ];
  if (object.kind === PUBLICATIONS.kind) return offered;
  return [
    ...role(
      "aggregate-to-edit",
      [`${CROSSPLANE}-admin`, `${CROSSPLANE}-edit`, ...local("admin", "edit")],
      names.plural,
      EDIT,
    ),
    ...role("aggregate-to-view", [`${CROSSPLANE}-view`, ...local("view")], names.plural, VIEW),
    ...offered,
  ];
}

function grants({ rules }: KubernetesObject): boolean {
  return Array.isArray(rules) && rules.length > 0;
}

/** The write of a role; undefined if it needs none. `another`: the role does not belong to the definition. */
type PlannedRole = (Action & { do: "apply" }) | "another" | undefined;

function planRole(
  object: LiveObject,
  role: KubernetesObject,
  existing: LiveObject | undefined,
  applies: ApplyCache,
): PlannedRole {
  if (existing === undefined && !grants(role)) return undefined;
  if (existing !== undefined && !isControlledBy(existing, object)) return "another";
  const manager = FIELD_MANAGERS.definition;
  if (existing !== undefined && applies.isApplied(role, existing, { fieldManager: manager })) return undefined;
  const change = { do: "apply", intent: role, seen: existing, guard: "uid" } as const;
  return { as: "own", on: referenceTo(role), manager, why: "the definition differs", ...change };
}

/** Whether the roles of a definition are as planned. @param find finds a role by its name */
export function areRolesAsPlanned(
  object: LiveObject,
  definition: Definition,
  find: (name: string) => LiveObject | undefined,
  applies: ApplyCache,
): boolean {
  return definitionRoles(object, definition, ALL_SERVED).every(
    (role) => planRole(object, role, find(role.metadata?.name ?? ""), applies) === undefined,
  );
}

/**
 * Applies the roles of a definition. A role that cannot be applied only causes an event: users with other roles can
 * still use the definition.
 */
export async function ensureRoles(
  port: Pick<DefinitionPort, "client" | "events">,
  { applies, emitted }: DefinitionMemory,
  object: LiveObject,
  definition: Definition,
  signal: AbortSignal,
  served: ServedKinds = ALL_SERVED,
): Promise<void> {
  const warnings: { reason: string; message: string }[] = [];
  for (const role of definitionRoles(object, definition, served)) {
    const { name = "" } = role.metadata ?? {};
    try {
      const planned = planRole(object, role, await findLive(port, referenceOf(CLUSTER_ROLES, name), signal), applies);
      if (planned === "another") {
        const message =
          `the ClusterRole ${name} does not belong to this definition and is left alone; ` +
          "delete it to have it created again";
        warnings.push({ reason: "RoleOfAnother", message });
      } else if (planned !== undefined) await executeOne(port, planned, signal, applies);
    } catch (error) {
      if (!isApiError(error, "Forbidden")) throw error;
      warnings.push({ reason: "CannotGrant", message: `cannot create the ClusterRole ${name}: ${error.message}` });
    }
  }
  for (const { reason, message } of warnings) {
    if (!emitted.has(message)) port.events.record(object, { type: "Warning", reason, message });
    emitted.add(message);
  }
}
