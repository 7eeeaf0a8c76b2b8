import type { Definition } from "@xfn/composition/definition";
import { ApiError, type LiveObject } from "@xfn/kubernetes";
import type { PipelineResult } from "@xfn/pipeline";
import { CompositeError } from "../../objects/composite-error.ts";
import type { Kinds } from "../observe/discover-kinds.ts";

/**
 * Rejects an application that composes objects outside its namespace, and infrastructure that composes objects in a
 * namespace, before anything is written. For composites of other definitions, only the entries concerned are refused.
 *
 * @throws {CompositeError} `OutsideNamespace` or `NamespacedResource`
 */
export function refuseOutside(
  { definition, kinds, xr }: { readonly definition: Definition; readonly kinds: Kinds; readonly xr: LiveObject },
  { desired, composed }: Pick<PipelineResult, "desired" | "composed">,
): void {
  const { namespace } = xr.metadata;
  const isApplication = definition.kind === "ApplicationDefinition" && namespace !== undefined;
  const isInfrastructure = definition.spec.composedScope === "Cluster";
  if (!isApplication && !isInfrastructure) return;
  for (const { name, resource } of isApplication ? (desired.resources ?? []) : []) {
    const asked = resource?.metadata?.namespace;
    if (asked === undefined || asked === null || asked === "" || asked === namespace) continue;
    throw outside(xr, name, `is in the namespace ${asked}`);
  }
  for (const { name, resource } of composed) {
    const { kind: title = "" } = resource;
    const kind = kinds.of(resource);
    // A kind that is not served is refused with its entry.
    if (kind instanceof ApiError) continue;
    if (isApplication && !kind.namespaced) throw outside(xr, name, `is a ${title}, which is cluster-scoped`);
    if (isInfrastructure && kind.namespaced) throw namespaced(definition, name, title);
  }
}

function outside(xr: LiveObject, entry: string, what: string): CompositeError {
  return new CompositeError(
    "OutsideNamespace",
    `the composed resource ${JSON.stringify(entry)} ${what}, and an application composes in its own namespace ` +
      `${xr.metadata.namespace ?? ""} only, so nothing is composed; remove the namespace, or require published infrastructure`,
  );
}

function namespaced(definition: Definition, entry: string, kind: string): CompositeError {
  return new CompositeError(
    "NamespacedResource",
    `the composed resource ${JSON.stringify(entry)} is a ${kind}, which is namespaced, and infrastructure composes ` +
      "cluster-scoped kinds only, so nothing is composed; compose a cluster-scoped kind, or set spec.composedScope: Any " +
      `of the InfrastructureDefinition ${definition.metadata.name ?? ""}`,
  );
}
