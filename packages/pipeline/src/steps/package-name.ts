import type { PackageStep } from "@xfn/composition";

/** The name of the Function of a step, or its package. */
export function imageOf({ functionRef }: PackageStep): string {
  return functionRef.name ?? functionRef.package;
}
