import type { LiveObject } from "@xfn/kubernetes";
import { REVISIONS } from "../objects/kinds.ts";

/** A package of a CompositionRevision, with its digest at the creation of the revision. */
export interface PinnedPackage {
  /** The reference as in the step. */
  readonly package: string;
  /** The reference with its digest. */
  readonly resolvedPackage: string;
  /** The name of its FunctionRuntime. */
  readonly runtime: string;
}

/**
 * The distinct packages that the steps of a revision name. Packages in OCI layouts are omitted: they have no registry
 * and no runtime.
 */
export function packagesOf(revision: LiveObject): string[] {
  const named = REVISIONS.of(revision).spec.pipeline.flatMap(({ functionRef: { package: reference } }) => {
    return reference === undefined || isLayout(reference) ? [] : [reference];
  });
  return [...new Set(named)];
}

/** Whether a package is in an OCI layout. */
export function isLayout(reference: string): boolean {
  return reference.startsWith("oci:");
}

/** The packages in the status of a revision. */
export function pinnedPackages(revision: LiveObject): PinnedPackage[] {
  return REVISIONS.of(revision).status.functions.flatMap(({ package: name, resolvedPackage, runtime }) => {
    if (name === undefined || resolvedPackage === undefined || runtime === undefined) return [];
    return [{ package: name, resolvedPackage, runtime }];
  });
}
