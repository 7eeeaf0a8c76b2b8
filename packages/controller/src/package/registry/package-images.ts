import type { LiveObject } from "@xfn/kubernetes";
import { hasElapsed } from "../../objects/elapsed.ts";
import { FUNCTIONS } from "../../objects/kinds.ts";
import { askRegistry } from "./ask-registry.ts";
import { type CheckedPackage, checkPackage, type WantedPackage } from "./check-package.ts";
import { type ImageSettings, imageSettings, whenConfigsListed } from "./image-configs.ts";
import { digestIn, pinnedReference } from "./package-names.ts";
import type { RegistryAccess } from "./registry-access.ts";
import { verifyPackage } from "./verify-package.ts";

/** How long the versions of a package are cached: packages with the same dependency resolve it at the same time. */
const KNOWN_MS = 10_000;

/** The packages at registries, with the settings of ImageConfigs. Objects give the names of their pull secrets. */
export class PackageImages {
  readonly #access: RegistryAccess;
  readonly #versions: Map<string, { readonly at: number; readonly tags: readonly string[] }> = new Map();

  constructor(access: RegistryAccess) {
    this.#access = access;
  }

  /** See {@link whenConfigsListed}. */
  async whenListed(signal: AbortSignal): Promise<void> {
    await whenConfigsListed(this.#access, signal);
  }

  /** The settings of ImageConfigs for an image. */
  settings(image: string): ImageSettings {
    return imageSettings(this.#access, image);
  }

  /**
   * The digest of an image: its own, or the one that its tag has now.
   *
   * @throws {PackageInstallError} `Unavailable`
   * @throws {ApiError} if a pull secret cannot be read
   */
  async digestOf(
    object: LiveObject,
    wanted: { readonly image: string; readonly action: string },
    signal: AbortSignal,
  ): Promise<string> {
    return await askRegistry(
      this.#access,
      object,
      wanted,
      async (registry, auth, image) => digestIn(wanted.image) ?? (await registry.digestOf(image, auth, signal)),
      signal,
    );
  }

  /**
   * The tags of a package that are versions, cached for a short time.
   *
   * @param object the revision that needs it
   * @param source registry and repository
   * @throws {PackageInstallError} `Unavailable`
   * @throws {ApiError} if a pull secret cannot be read
   */
  async versionsOf(object: LiveObject, source: string, signal: AbortSignal): Promise<readonly string[]> {
    const now = this.#access.now();
    for (const [one, { at }] of this.#versions) if (hasElapsed(at, now, KNOWN_MS)) this.#versions.delete(one);
    const known = this.#versions.get(source);
    if (known !== undefined) return known.tags;
    const action = `cannot list the versions of the dependency ${source}`;
    const tags = await askRegistry(
      this.#access,
      object,
      { image: source, action },
      (registry, auth, image) => registry.versions(image, auth, signal),
      signal,
    );
    this.#versions.set(source, { at: now, tags });
    return tags;
  }

  /**
   * Verifies the signature that an ImageConfig requires of the package of an object. Does nothing if none requires it.
   *
   * @throws {PackageInstallError} `Unverified`, or `Unavailable` if the registry does not answer
   * @throws {ApiError} if a pull secret or a key cannot be read
   */
  async verify(object: LiveObject, digest: string, signal: AbortSignal): Promise<void> {
    const image = FUNCTIONS.of(object).spec.package ?? "";
    const { verification } = this.settings(image);
    if (verification === undefined) return;
    await askRegistry(
      this.#access,
      object,
      { image, action: `cannot verify the package ${image}` },
      (registry, auth, pulled) => {
        const names = { name: pinnedReference(image, digest), image: pinnedReference(pulled, digest) };
        return verifyPackage(this.#access, verification, names, { registry, auth }, signal);
      },
      signal,
    );
  }

  /** See {@link checkPackage}. */
  async check(object: LiveObject, wanted: WantedPackage, signal: AbortSignal): Promise<CheckedPackage> {
    return await checkPackage(this.#access, object, wanted, signal);
  }
}
