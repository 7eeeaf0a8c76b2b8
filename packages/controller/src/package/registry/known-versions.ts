import type { LiveObject } from "@xfn/kubernetes";
import type { Context } from "../../objects/context.ts";
import { hasElapsed } from "../../objects/elapsed.ts";
import { askRegistry } from "./ask-registry.ts";

/** How long the versions of a package are cached: packages with the same dependency resolve it at the same time. */
const KNOWN_MS = 10_000;

/** The versions of packages in registries, cached for a short time. */
export class KnownVersions {
  readonly #known: Map<string, { readonly at: number; readonly tags: readonly string[] }> = new Map();

  /**
   * The tags of a package that are versions.
   *
   * @param object the revision that needs it
   * @param source registry and repository
   * @throws {PackageInstallError} `Unavailable`
   * @throws {ApiError} if a pull secret cannot be read
   */
  async of(context: Context, object: LiveObject, source: string, signal: AbortSignal): Promise<readonly string[]> {
    const now = context.now();
    for (const [one, { at }] of this.#known) if (hasElapsed(at, now, KNOWN_MS)) this.#known.delete(one);
    const known = this.#known.get(source);
    if (known !== undefined) return known.tags;
    const action = `cannot list the versions of the dependency ${source}`;
    const tags = await askRegistry(
      context,
      object,
      { image: source, action },
      (registry, auth, image) => registry.versions(image, auth, signal),
      signal,
    );
    this.#known.set(source, { at: now, tags });
    return tags;
  }
}
