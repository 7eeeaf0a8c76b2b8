import { messageOf } from "@xfn/errors";
import { type JsonObject, objectAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { checkCompatible, type Dependency, type PackageContents, PackageError, type PackageKind } from "@xfn/package";
import type { Context } from "../objects/context.ts";
import { askRegistry } from "./registry/ask-registry.ts";
import { PackageInstallError } from "./registry/install-error.ts";
import { digestIn, pinnedReference } from "./registry/package-names.ts";
import { verifyPackage } from "./registry/verify-package.ts";

/** A runner in the same pod accepts a connection within milliseconds. */
const READY_MS = 5_000;

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
  context: Context,
  object: LiveObject,
  { image, kind, anyCrossplane }: WantedPackage,
  signal: AbortSignal,
): Promise<CheckedPackage> {
  const action = `cannot read the package ${image}`;
  const { resolved, contents, verifiedBy } = await askRegistry(
    context,
    object,
    { image, action },
    async (registry, auth, pulled, { verification }) => {
      // Revisions that Crossplane created contain a tag.
      const digest = digestIn(image) ?? (await registry.digestOf(pulled, auth, signal));
      const pinned = pinnedReference(pulled, digest);
      if (verification !== undefined)
        await verifyPackage(context, verification, { name: image, image: pinned }, { registry, auth }, signal);
      const contents = await registry.read(pinned, kind, auth, signal);
      return { resolved: pinnedReference(image, digest), contents, verifiedBy: verification?.config };
    },
    signal,
  );
  if (!anyCrossplane) requireCompatible(contents, image);
  const { capabilities } = objectAt(contents.metadata, "spec");
  const texts = (Array.isArray(capabilities) ? capabilities : []).filter((one) => typeof one === "string");
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

/**
 * Waits until the runner can serve functions. The runner starts each function at its first call.
 *
 * @returns the endpoint
 * @throws {PackageInstallError} `NoRuntime`
 */
export async function hostEndpoint({ functionHost }: Context): Promise<string> {
  if (functionHost === undefined) {
    const message = "functions are disabled; start the controller with --enable-composition-functions";
    throw new PackageInstallError("NoRuntime", message);
  }
  try {
    await functionHost.ready(READY_MS);
    return functionHost.endpoint;
  } catch (cause) {
    const why = messageOf(cause);
    const options = { cause, retryable: true };
    throw new PackageInstallError("NoRuntime", `no runner can serve it: ${why}; start xfn-runner`, options);
  }
}
