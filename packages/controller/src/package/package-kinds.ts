import type { ResourceKind } from "@xfn/kubernetes";
import type { PackageKind } from "@xfn/package";
import {
  CONFIGURATION_REVISIONS,
  CONFIGURATIONS,
  FUNCTION_REVISIONS,
  FUNCTIONS,
  PROVIDER_REVISIONS,
  PROVIDERS,
} from "../objects/kinds.ts";

/** A kind of packages, with the kind of their revisions. */
export interface PackageKinds {
  readonly packageKind: PackageKind;
  readonly kind: ResourceKind;
  readonly revisionKind: ResourceKind;
}

/** All kinds of packages. */
export const PACKAGES: Readonly<Record<PackageKind, PackageKinds>> = {
  Configuration: { packageKind: "Configuration", kind: CONFIGURATIONS, revisionKind: CONFIGURATION_REVISIONS },
  Function: { packageKind: "Function", kind: FUNCTIONS, revisionKind: FUNCTION_REVISIONS },
  Provider: { packageKind: "Provider", kind: PROVIDERS, revisionKind: PROVIDER_REVISIONS },
};
