import type { KubernetesObject } from "@xfn/json";
import { ApiError, type LiveObject, namingProblem, type ResourceKind } from "@xfn/kubernetes";
import type { ComposedResource } from "@xfn/pipeline";
import { asCompositeError, CompositeError } from "../../objects/composite-error.ts";
import { finalizersOf } from "../../objects/finalizers.ts";
import { isSecretKind } from "../../objects/kinds.ts";
import { describeReference, objectKey, referenceTo } from "../../objects/references.ts";
import type { Kinds } from "../observe/discover-kinds.ts";

/** A composed resource with a served kind and a valid name and namespace. */
export interface Applicable {
  readonly entry: string;
  /** Every field that the controller must own, and no other. */
  readonly intent: KubernetesObject;
  readonly observed: LiveObject | undefined;
}

/** The composed resources of a run. */
export interface Applicables {
  /** The applicable resources, by object. */
  readonly resources: ReadonlyMap<string, Applicable>;
  /** Why the other resources cannot be applied, by entry. */
  readonly refused: ReadonlyMap<string, CompositeError>;
  /** Warnings about entries. */
  readonly notes: readonly string[];
}

/** The input of {@link applicables}, in addition to the run. */
export interface ApplicableInput {
  readonly xr: LiveObject;
  /** The objects of entries that exist. */
  readonly entries: ReadonlyMap<string, LiveObject>;
  readonly kinds: Kinds;
  readonly allowComposedSecrets?: boolean | undefined;
}

/**
 * Checks composed resources before they are recorded: an object with an invalid reference could be neither read nor
 * deleted.
 */
export function applicables(composed: readonly ComposedResource[], input: ApplicableInput): Applicables {
  const resources = new Map<string, Applicable>();
  const refused = new Map<string, CompositeError>();
  const notes: string[] = [];
  for (const resource of composed) {
    const { name } = resource;
    try {
      const kind = requireKind(resource, input);
      const observed = input.entries.get(name);
      notes.push(...droppedFinalizers(resource, observed));
      addOnce(resources, { entry: name, intent: intentOf(resource, kind), observed });
    } catch (error) {
      if (!(error instanceof CompositeError)) throw error;
      refused.set(name, error);
    }
  }
  return { resources, refused, notes };
}

/** @throws {CompositeError} if the XR may not compose the kind */
function requireKind(
  { name, resource }: ComposedResource,
  { xr, kinds, allowComposedSecrets = false }: ApplicableInput,
): ResourceKind {
  const title = applyTitle(name);
  const kind = kinds.of(resource);
  if (kind instanceof ApiError) throw asCompositeError(kind, title, false, describeReference(referenceTo(resource)));
  if (!allowComposedSecrets && isSecretKind(kind)) throw secretsDisabled(title);
  requireNamespace(xr, title, kind);
  return kind;
}

/** @throws {CompositeError} for an invalid name or namespace */
function intentOf({ name, resource }: ComposedResource, kind: ResourceKind): KubernetesObject {
  const title = applyTitle(name);
  const { finalizers: _, namespace, ...metadata } = resource.metadata ?? {};
  if (kind.namespaced && !namespace) {
    throw new CompositeError(
      "InvalidResource",
      `${title}: ${resource.kind ?? ""} is a namespaced kind; set metadata.namespace by a patch or a function (that of a base has no effect)`,
    );
  }
  const intent = { ...resource, metadata: { ...metadata, ...(kind.namespaced && namespace && { namespace }) } };
  const problem = namingProblem(referenceTo(intent));
  if (problem !== undefined) throw new CompositeError("InvalidResource", `${title}: metadata.${problem}`);
  return intent;
}

/** Two entries for one object would overwrite each other in every reconcile. */
function addOnce(resources: Map<string, Applicable>, one: Applicable): void {
  const reference = referenceTo(one.intent);
  const key = objectKey(reference);
  const other = resources.get(key);
  if (other === undefined) {
    resources.set(key, one);
    return;
  }
  const [entry, first] = [one, other].map((each) => JSON.stringify(each.entry));
  const problem = `the entries ${first} and ${entry} are both ${describeReference(reference)}; give one another name`;
  throw new CompositeError("InvalidResource", `cannot apply composed resource ${entry}: ${problem}`);
}

/**
 * Kubernetes allows a namespaced object to own only objects of its namespace ("Owners and Dependents").
 *
 * @throws {CompositeError} `OutsideNamespace`
 */
function requireNamespace(xr: LiveObject, title: string, kind: ResourceKind): void {
  const { namespace } = xr.metadata;
  if (namespace === undefined || kind.namespaced) return;
  throw new CompositeError(
    "OutsideNamespace",
    `${title}: ${kind.kind} is cluster-scoped, and a namespaced ${xr.kind} composes in its namespace ${namespace} only; ` +
      "compose a namespaced kind, or define the composite with the scope Cluster",
  );
}

/**
 * A finalizer requires a controller that removes it. Functions cannot guarantee that, so their finalizers are dropped.
 */
function droppedFinalizers({ name, resource }: ComposedResource, observed: LiveObject | undefined): string[] {
  const existing = observed === undefined ? [] : finalizersOf(observed);
  const dropped = finalizersOf(resource).filter((one) => !existing.includes(one));
  if (dropped.length === 0) return [];
  const title = `composed resource ${JSON.stringify(name)}`;
  return [`${title}: its finalizers ${dropped.join(", ")} are not set; functions cannot set any`];
}

function secretsDisabled(action: string): CompositeError {
  return new CompositeError(
    "SecretsDisabled",
    `${action}: Compositions may not compose Secrets, because their authors could read any Secret that no controller ` +
      "owns; start the controller with --allow-composed-secrets to trust them with those",
  );
}

/** The beginning of each message about an entry that cannot be applied. */
export function applyTitle(entry: string): string {
  return `cannot apply composed resource ${JSON.stringify(entry)}`;
}
