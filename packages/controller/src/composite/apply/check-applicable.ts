import type { KubernetesObject } from "@xfn/json";
import { type LiveObject, namingProblem, type ResourceKind } from "@xfn/kubernetes";
import type { ComposedResource } from "@xfn/pipeline";
import { asCompositeError, CompositeError } from "../../objects/composite-error.ts";
import { finalizersOf } from "../../objects/finalizers.ts";
import { isSecretKind } from "../../objects/kinds.ts";
import { describeReference, referenceTo } from "../../objects/references.ts";
import { emitEvent } from "../state/emit-events.ts";
import type { ReconcileContext } from "../state/reconcile-context.ts";

/** A composed resource whose kind is served and whose name and namespace are valid. */
export interface Applicable {
  readonly entry: string;
  /** Every field that the controller must own, and no other. */
  readonly intent: KubernetesObject;
  readonly observed: LiveObject | undefined;
}

/**
 * Checks a composed resource before its reference is recorded: an invalid reference could neither be read nor deleted.
 *
 * @throws {CompositeError} if it cannot be applied
 */
export async function checkApplicable(
  context: ReconcileContext,
  { name, resource }: ComposedResource,
  observed: LiveObject | undefined,
): Promise<Applicable> {
  const { apiVersion = "", kind: kindName = "" } = resource;
  let kind: ResourceKind;
  try {
    kind = await context.actors.xr.client.kind(apiVersion, kindName, { signal: context.signal });
  } catch (error) {
    throw asCompositeError(error, applyTitle(name), false, describeReference(referenceTo(resource)));
  }
  if (!context.allowComposedSecrets && isSecretKind(kind)) throw secretsDisabled(applyTitle(name));
  requireNamespace(context, applyTitle(name), kind);
  // Drop generateName: the resource has a name already.
  const { finalizers: _, namespace, generateName: __, ...metadata } = resource.metadata ?? {};
  warnOfFinalizers(context, name, resource, observed);
  if (kind.namespaced && !namespace) {
    throw new CompositeError(
      "InvalidResource",
      `${applyTitle(name)}: ${kindName} is a namespaced kind; set metadata.namespace by a patch or a function (that of a base has no effect)`,
    );
  }
  const intent = { ...resource, metadata: { ...metadata, ...(kind.namespaced && namespace && { namespace }) } };
  const problem = namingProblem(referenceTo(intent));
  if (problem !== undefined) throw new CompositeError("InvalidResource", `${applyTitle(name)}: metadata.${problem}`);
  return { entry: name, intent, observed };
}

/**
 * Kubernetes lets a namespaced object own only objects of its namespace ("Owners and Dependents").
 *
 * @throws {CompositeError} `OutsideNamespace`
 */
function requireNamespace({ xr }: ReconcileContext, title: string, kind: ResourceKind): void {
  const { namespace } = xr.metadata;
  if (namespace === undefined || kind.namespaced) return;
  throw new CompositeError(
    "OutsideNamespace",
    `${title}: ${kind.kind} is cluster-scoped, and a namespaced ${xr.kind} composes in its namespace ${namespace} only; ` +
      "compose a namespaced kind, or define the composite with the scope Cluster",
  );
}

/** A finalizer promises that a controller removes it. Functions cannot promise that, so theirs are dropped. */
function warnOfFinalizers(
  context: ReconcileContext,
  name: string,
  resource: KubernetesObject,
  observed: LiveObject | undefined,
): void {
  const existing = observed === undefined ? [] : finalizersOf(observed);
  const dropped = finalizersOf(resource).filter((one) => !existing.includes(one));
  if (dropped.length === 0) return;
  const title = `composed resource ${JSON.stringify(name)}`;
  emitEvent(context, "Warning", `${title}: its finalizers ${dropped.join(", ")} are not set; functions cannot set any`);
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
