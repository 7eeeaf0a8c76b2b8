import { isNamespaced } from "@xfn/composition/definition";
import type { KubernetesObject } from "@xfn/json";
import { ApiError, type LiveObject } from "@xfn/kubernetes";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { CLUSTER_ROLES, typeMeta } from "../objects/kinds.ts";
import { LABEL_DEFINED } from "../objects/labels.ts";
import { controllerReferenceTo, isControlledBy } from "../objects/owner.ts";
import { referenceTo } from "../objects/references.ts";
import type { Action } from "../plan/action.ts";
import type { CrdState } from "./definition-crd.ts";
import type { ByInstances, Subject } from "./definition-port.ts";

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

/**
 * Whether the API server serves the kind of a CRD. Undefined: the roles stay as they are, because nothing changes or
 * the answer is not known yet.
 */
function isServed(state: CrdState | undefined): boolean | undefined {
  if (state?.is === "refused") return state.isKept === true ? undefined : false;
  return state?.is === "established" ? true : undefined;
}

/**
 * The ClusterRoles of a definition or a publication, for users. Roles for a kind that is not served have no rules: a
 * CRD of another owner may have the names of the definition. Kubernetes' roles admin, edit and view get the namespaced
 * kinds, so that an editor of a namespace can create them there. Only Crossplane's roles get cluster-scoped composites.
 * The controller's own roles come from its deployment: in Kubernetes, no client can grant more rights than it has
 * ("Using RBAC Authorization").
 */
export function definitionRoles(
  { object, definition }: Pick<Subject, "definition" | "object">,
  states: ByInstances<CrdState>,
): KubernetesObject[] {
  const served = { composites: isServed(states.composites), claims: isServed(states.claims) };
  const { group, names, claimNames, scope } = definition.spec;
  const local = (...roles: string[]): string[] =>
    isNamespaced(scope) ? roles.map((name) => `${KUBERNETES}-${name}`) : [];
  const role = (suffix: string, labels: readonly string[], plural: string, verbs: readonly string[]) => {
    const grants = served[plural === names.plural ? "composites" : "claims"];
    if (grants === undefined) return [];
    const metadata = {
      name: `crossplane:composite:${object.metadata.name}:${suffix}`,
      labels: Object.fromEntries([...labels, LABEL_DEFINED].map((label) => [label, "true"])),
      ownerReferences: [controllerReferenceTo(object)],
    };
    const rules = grants ? [{ apiGroups: [group], resources: [plural], verbs: [...verbs] }] : [];
    return [{ ...typeMeta(CLUSTER_ROLES), metadata, rules }];
  };
  const offered =
    claimNames === undefined
      ? []
      : [
          ...role("claims-aggregate-to-edit", [`${KUBERNETES}-admin`, `${KUBERNETES}-edit`], claimNames.plural, EDIT),
          ...role("claims-aggregate-to-view", [`${KUBERNETES}-view`], claimNames.plural, VIEW),
        ];
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

/** A role as found, or the error of the server that does not let the controller read it. */
export interface SeenRole {
  readonly role: KubernetesObject;
  readonly found: ApiError | LiveObject | undefined;
}

export interface PlannedRoles {
  readonly actions: readonly Action[];
  /** The roles that the controller cannot write. */
  readonly warnings: readonly Warning[];
}

/** A warning about a role, for an event. */
export interface Warning {
  readonly reason: string;
  readonly message: string;
}

/** Plans to apply the roles of a definition that differ. */
export function planRoles({ object, memory }: Subject, seen: readonly SeenRole[]): PlannedRoles {
  const actions: Action[] = [];
  const warnings: Warning[] = [];
  const manager = FIELD_MANAGERS.definition;
  for (const { role, found } of seen) {
    if (found instanceof ApiError) warnings.push(cannotGrant(role.metadata?.name ?? "", found));
    else if (found !== undefined && !isControlledBy(found, object)) warnings.push(roleOfAnother(found));
    else if (found === undefined ? grants(role) : !memory.applies.isApplied(role, found, { fieldManager: manager })) {
      const change = { do: "apply", intent: role, seen: found, guard: "uid" } as const;
      actions.push({ as: "own", on: referenceTo(role), manager, why: "the definition differs", ...change });
    }
  }
  return { actions, warnings };
}

function roleOfAnother({ metadata }: LiveObject): Warning {
  const message =
    `the ClusterRole ${metadata.name} does not belong to this definition and is left alone; ` +
    "delete it to have it created again";
  return { reason: "RoleOfAnother", message };
}

export function cannotGrant(name: string, { message }: Error): Warning {
  return { reason: "CannotGrant", message: `cannot create the ClusterRole ${name}: ${message}` };
}
