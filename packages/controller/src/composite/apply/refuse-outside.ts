import type { PipelineResult } from "@xfn/pipeline";
import { CompositeError } from "../../objects/composite-error.ts";
import type { ReconcileContext } from "../state/reconcile-context.ts";

/**
 * Refuses an application that composes something outside its namespace, before anything is written. Composites of
 * other definitions have what they can: theirs is refused entry by entry.
 *
 * @throws {CompositeError} `OutsideNamespace`
 */
export async function refuseOutside(
  context: ReconcileContext,
  { desired, composed }: Pick<PipelineResult, "desired" | "composed">,
): Promise<void> {
  const { client, definition, signal, xr } = context;
  const { namespace } = xr.metadata;
  if (definition.kind !== "ApplicationDefinition" || namespace === undefined) return;
  for (const { name, resource } of desired.resources ?? []) {
    const asked = resource?.metadata?.namespace;
    if (asked === undefined || asked === null || asked === "" || asked === namespace) continue;
    throw outside(context, name, `is in the namespace ${asked}`);
  }
  for (const { name, resource } of composed) {
    const { apiVersion = "", kind: title = "" } = resource;
    // A kind that is not served is refused with its entry.
    const kind = await client.kind(apiVersion, title, { signal }).catch(() => undefined);
    if (kind?.namespaced === false) throw outside(context, name, `is a ${title}, which is cluster-scoped`);
  }
}

function outside({ xr }: ReconcileContext, entry: string, what: string): CompositeError {
  return new CompositeError(
    "OutsideNamespace",
    `nothing is composed: the composed resource ${JSON.stringify(entry)} ${what}, and an application composes in its ` +
      `own namespace ${xr.metadata.namespace ?? ""} only; remove the namespace, or require published infrastructure`,
  );
}
