import { type Definition, isNamespaced } from "@xfn/composition/definition";
import type { JsonValue, KubernetesObject } from "@xfn/json";
import { isApiError, type LiveObject } from "@xfn/kubernetes";
import type { ApplyCache } from "../objects/apply-cache.ts";
import type { Context } from "../objects/context.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { CLUSTER_ROLES, PUBLICATIONS, referenceOf, typeMeta } from "../objects/kinds.ts";
import { DEFINED_SELECTOR, LABEL_DEFINED } from "../objects/labels.ts";
import { controllerReferenceTo, isControlledBy } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";

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

/** The state of one definition that the process retains between reconciles. It only saves requests and events. */
export interface DefinitionMemory {
  readonly applies: ApplyCache;
  /** The messages of emitted events about roles, which are not repeated. */
  readonly emitted: Set<string>;
  /** Set while the definition waits for its CRD. */
  pending?: PendingCrd | undefined;
  /** Whether the last reconcile found the definition settled. */
  isSettled?: boolean | undefined;
}

/** A CRD that was not established in the last complete reconcile. */
export interface PendingCrd {
  readonly name: string;
  /** The UID of the definition. */
  readonly uid: string;
  readonly generation: JsonValue | undefined;
  /** Milliseconds since the epoch. */
  readonly readAt: number;
}

/** Whether the roles of a definition are as desired, according to the watched ClusterRoles. */
export function areRolesSettled(
  { informers }: Context,
  applies: ApplyCache,
  object: LiveObject,
  definition: Definition,
): boolean {
  const cache = informers.peek(CLUSTER_ROLES, DEFINED_SELECTOR);
  return definitionRoles(object, definition, ALL_SERVED).every((role) => {
    const existing = cache?.get(role.metadata?.name ?? "");
    if (existing === undefined || !isControlledBy(existing, object)) return false;
    return applies.isApplied(role, existing, { fieldManager: FIELD_MANAGERS.definition });
  });
}

function grants({ rules }: KubernetesObject): boolean {
  return Array.isArray(rules) && rules.length > 0;
}

/**
 * Applies the roles of a definition. A role that cannot be applied only causes an event: users with other roles can
 * still use the definition.
 */
export async function ensureRoles(
  context: Context,
  memory: DefinitionMemory,
  object: LiveObject,
  definition: Definition,
  signal: AbortSignal,
  served: ServedKinds = ALL_SERVED,
): Promise<void> {
  const warn = (reason: string, message: string): void => {
    if (memory.emitted.has(message)) return;
    memory.emitted.add(message);
    context.events.record(object, { type: "Warning", reason, message });
  };
  for (const role of definitionRoles(object, definition, served)) {
    const { name = "" } = role.metadata ?? {};
    try {
      const existing = await findLive(context, referenceOf(CLUSTER_ROLES, name), signal);
      if (existing === undefined && !grants(role)) continue;
      if (existing !== undefined && !isControlledBy(existing, object)) {
        warn(
          "RoleOfAnother",
          `the ClusterRole ${name} does not belong to this definition and is left alone; ` +
            "delete it to have it created again",
        );
      } else {
        const options = { fieldManager: FIELD_MANAGERS.definition, signal };
        await memory.applies.apply(context.client, role, existing, options);
      }
    } catch (error) {
      if (!isApiError(error, "Forbidden")) throw error;
      warn("CannotGrant", `cannot create the ClusterRole ${name}: ${error.message}`);
    }
  }
}
