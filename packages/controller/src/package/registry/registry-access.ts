import type { PackageRegistry } from "../../objects/context.ts";
import type { Reader } from "../../objects/read-objects.ts";

/** Registries, and the objects with settings and credentials for them. */
export interface RegistryAccess extends Reader {
  /** Packages at registries. Absent: packages are disabled. */
  readonly packages?: PackageRegistry | undefined;
  /** Whether ImageConfigs are watched (`--enable-packages`). Default: false. */
  readonly functionPackages?: boolean | undefined;
  /** The controller's own namespace, which has the pull secrets. */
  readonly namespace: string;
  /** The controller's own service account. Absent: it has no pull secrets. */
  readonly serviceAccount?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}
