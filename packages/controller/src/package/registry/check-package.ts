import { type JsonObject, listAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { checkCompatible, type Dependency, type PackageContents, PackageError, type PackageKind } from "@xfn/package";
import { askRegistry } from "./ask-registry.ts";
import { PackageInstallError } from "./install-error.ts";
import { digestIn, pinnedReference } from "./package-names.ts";
import type { RegistryAccess } from "./registry-access.ts";
import { verifyPackage } from "./verify-package.ts";

/** A package that was checked against its expected kind. */
export interface CheckedPackage {
  /** The package with its digest. */
  readonly resolved: string;
  readonly capabilities: readonly string[];
  readonly dependencies: readonly Dependency[];
  /** All objects except the metadata. */
  readonly objects: readonly JsonObject[];
  /** The ImageConfig that required a signature, which was verified. */
  readonly verifiedBy: string | undefined;
}

/** A package and its requirements. */
export interface WantedPackage {
  readonly image: string;
  readonly kind: PackageKind;
  /** Whether the package may be for another version of Crossplane. */
  readonly anyCrossplane: boolean;
}

/**
 * Reads and checks the package of an object. If an ImageConfig requires a signature, it is verified first. The verified
 * digest is then read and run, even if its tag moves later.
 *
 * @throws {PackageInstallError} `Unavailable`, `Unverified` or `InvalidPackage`
 * @throws {ApiError} if a pull secret cannot be read
 */
export async function checkPackage(
  access: RegistryAccess,
  object: LiveObject,
  { image, kind, anyCrossplane }: WantedPackage,
  signal: AbortSignal,
): Promise<CheckedPackage> {
  const action = `cannot read the package ${image}`;
  const { resolved, contents, verifiedBy } = await askRegistry(
    access,
    object,
    { image, action },
    async (registry, auth, pulled, { verification }) => {
      // Revisions that Crossplane created contain a tag.
      const digest = digestIn(image) ?? (await registry.digestOf(pulled, auth, signal));
      const pinned = pinnedReference(pulled, digest);
      if (verification !== undefined)
        await verifyPackage(access, verification, { name: image, image: pinned }, { registry, auth }, signal);
      const contents = await registry.read(pinned, kind, auth, signal);
      return { resolved: pinnedReference(image, digest), contents, verifiedBy: verification?.config };
    },
    signal,
  );
  if (!anyCrossplane) requireCompatible(contents, image);
  const texts = listAt(contents.metadata, "spec", "capabilities").filter((one) => typeof one === "string");
  return { resolved, capabilities: texts, dependencies: contents.dependencies, objects: contents.objects, verifiedBy };
}

function requireCompatible(contents: PackageContents, image: string): void {
  try {
    checkCompatible(contents, image);
  } catch (cause) {
    if (!(cause instanceof PackageError)) throw cause;
    throw new PackageInstallError("InvalidPackage", cause.message, { cause });
  }
}
