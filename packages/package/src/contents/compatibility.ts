import { PackageError } from "../errors/package-error.ts";
import { parseConstraint } from "../version/constraint.ts";
import { parseVersion } from "../version/version.ts";
import type { PackageContents } from "./check-package.ts";

/** The release of Crossplane whose API xfn serves. Packages name the releases they need: `spec.crossplane.version`. */
export const CROSSPLANE_VERSION = "v2.3.4";

/**
 * Checks that a package is for this version of Crossplane's API.
 *
 * @param reference - the package as the caller names it, for the message
 * @throws PackageError `Incompatible`
 */
export function checkCompatible(
  { crossplane }: Pick<PackageContents, "crossplane">,
  reference: string,
  version: string = CROSSPLANE_VERSION,
): void {
  const parsed = parseVersion(version);
  if (crossplane === undefined || (parsed && parseConstraint(crossplane)?.allows(parsed) === true)) return;
  throw new PackageError("Incompatible", `is ${crossplane}, and this is the API of Crossplane ${version}`, {
    package: reference,
    field: "spec.crossplane.version",
    remedy: "use another version of the package, or set spec.ignoreCrossplaneConstraints",
  });
}
