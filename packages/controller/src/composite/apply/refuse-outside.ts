import type { PipelineResult } from "@xfn/pipeline";
import { CompositeError } from "../../objects/composite-error.ts";
import type { ReconcileContext } from "../state/reconcile-context.ts";

/**
 * Refuses an application that composes something outside its namespace, and infrastructure that composes something in
 * one, before anything is written. Composites of other definitions have what they can: theirs is refused entry by
 * entry.
 *
 * @throws {CompositeError} `OutsideNamespace` or `NamespacedResource`
 */
export async function refuseOutside(
  context: ReconcileContext,
  { desired, composed }: Pick<PipelineResult, "desired" | "composed">,
): Promise<void> {
  const { actors, definition, signal, xr } = context;
  const { namespace } = xr.metadata;
  const isApplication = definition.kind === "ApplicationDefinition" && namespace !== undefined;
  const isInfrastructure = definition.spec.composedScope === "Cluster";
  if (!isApplication && !isInfrastructure) return;
  for (const { name, resource } of isApplication ? (desired.resources ?? []) : []) {
    const asked = resource?.metadata?.namespace;
    if (asked === undefined || asked === null || asked === "" || asked === namespace) continue;
    throw outside(context, name, `is in the namespace ${asked}`);
  }
  for (const { name, resource } of composed) {
    const { apiVersion = "", kind: title = "" } = resource;
    // A kind that is not served is refused with its entry.
    const kind = await actors.xr.client.kind(apiVersion, title, { signal }).catch(() => undefined);
    if (isApplication && kind?.namespaced === false)
      throw outside(context, name, `is a ${title}, which is cluster-scoped`);
    if (isInfrastructure && kind?.namespaced === true) throw namespaced(context, name, title);
  }
}

function outside({ xr }: ReconcileContext, entry: string, what: string): CompositeError {
  return new CompositeError(
    "OutsideNamespace",
    `the composed resource ${JSON.stringify(entry)} ${what}, and an application composes in its own namespace ` +
      `${xr.metadata.namespace ?? ""} only, so nothing is composed; remove the namespace, or require published infrastructure`,
  );
}

function namespaced({ definition }: ReconcileContext, entry: string, kind: string): CompositeError {
  return new CompositeError(
    "NamespacedResource",
    `the composed resource ${JSON.stringify(entry)} is a ${kind}, which is namespaced, and infrastructure composes ` +
      "cluster-scoped kinds only, so nothing is composed; compose a cluster-scoped kind, or set spec.composedScope: Any " +
      `of the InfrastructureDefinition ${definition.metadata.name ?? ""}`,
  );
}
