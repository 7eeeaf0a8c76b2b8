import { type Composition, stepsOf, traitsOf } from "@xfn/composition";
import type { Definition } from "@xfn/composition/definition";
import type { JsonObject, KubernetesObject } from "@xfn/json";
import { CLUSTER_ROLES, isSecretKind, typeMeta } from "../objects/kinds.ts";
import { EDIT, VIEW } from "./definition-roles.ts";

/** The controller's role in `deploy/base/rbac.yaml` aggregates roles with this label, as Crossplane's role does. */
const AGGREGATED = "rbac.crossplane.io/aggregate-to-crossplane";

const UPDATE = ["update", "patch"];

/** The plural of a kind, which roles use; undefined if it is unknown. */
export type PluralOf = (group: string, kind: string) => string | undefined;

/** The ClusterRole of one definition for the controller, with notes for its reader. */
export interface ControllerRole {
  readonly role: KubernetesObject;
  /** One sentence per note. */
  readonly notes: readonly string[];
}

/**
 * The ClusterRole that lets the controller work for a definition. It covers the definition's XRs and claims, the
 * objects that templates compose, and the objects that steps require.
 *
 * @param compositions only those for the XRs of the definition
 */
export function controllerRole(
  definition: Definition,
  compositions: readonly Composition[],
  pluralOf: PluralOf,
): ControllerRole {
  const { group, names, claimNames } = definition.spec;
  const notes: string[] = [];
  const own = [names.plural, ...(claimNames === undefined ? [] : [claimNames.plural])];
  const edited = new Resources(pluralOf, notes);
  const viewed = new Resources(pluralOf, notes);
  for (const composition of compositions) {
    const steps = stepsOf(composition);
    for (const { name, base } of composition.spec.resources) {
      const { apiVersion, kind } = base;
      if (typeof apiVersion === "string" && typeof kind === "string") edited.add({ apiVersion, kind });
      else notes.push(`Patches set the kind of template ${name} of Composition ${composition.metadata.name}: add it.`);
    }
    for (const required of steps.flatMap((step) => traitsOf(step).requires)) viewed.add(required);
    if (steps.length > 0)
      notes.push(
        `Composition ${composition.metadata.name} has functions: add the kinds that they compose, and those that they require.`,
      );
  }
  const rules = [
    { apiGroups: [group], resources: own, verbs: [...EDIT] },
    {
      apiGroups: [group],
      resources: ["status", "finalizers"].flatMap((part) => own.map((plural) => `${plural}/${part}`)),
      verbs: UPDATE,
    },
    ...edited.rules(EDIT),
    ...viewed.rules(VIEW),
  ];
  const metadata = { name: `xfn-controller:${definition.metadata.name}`, labels: { [AGGREGATED]: "true" } };
  return { role: { ...typeMeta(CLUSTER_ROLES), metadata, rules }, notes };
}

interface ObjectType {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Resources by their API group. */
class Resources {
  readonly #byGroup = new Map<string, Set<string>>();
  readonly #pluralOf: PluralOf;
  readonly #notes: string[];

  constructor(pluralOf: PluralOf, notes: string[]) {
    this.#pluralOf = pluralOf;
    this.#notes = notes;
  }

  add({ apiVersion, kind }: ObjectType): void {
    const slash = apiVersion.indexOf("/");
    const group = slash === -1 ? "" : apiVersion.slice(0, slash);
    // The role in `deploy/base/rbac.yaml` has Secrets, and a flag decides whether they may be composed.
    if (isSecretKind({ group, kind })) return;
    const known = this.#byGroup.get(group) ?? new Set();
    this.#byGroup.set(group, known);
    const plural = this.#pluralOf(group, kind);
    if (plural === undefined && !known.has(guessedPlural(kind)))
      this.#notes.push(`The plural of ${kind} (${apiVersion}) is a guess: give its CRD too, or check it.`);
    known.add(plural ?? guessedPlural(kind));
  }

  rules(verbs: readonly string[]): JsonObject[] {
    return [...this.#byGroup]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([group, resources]) => ({ apiGroups: [group], resources: [...resources].toSorted(), verbs: [...verbs] }));
  }
}

/** The regular English plural, which most kinds have. */
function guessedPlural(kind: string): string {
  const singular = kind.toLowerCase();
  if (singular.endsWith("endpoints")) return singular;
  if (singular.endsWith("s")) return `${singular}es`;
  return singular.endsWith("y") ? `${singular.slice(0, -1)}ies` : `${singular}s`;
}
