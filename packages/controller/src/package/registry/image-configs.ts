import { isObject, type JsonObject } from "@xfn/functionio";
import type { LiveObject } from "@xfn/kubernetes";
import type { Context } from "../../objects/context.ts";
import { IMAGE_CONFIGS } from "../../objects/kinds.ts";
import { objectAt, textAt } from "../../objects/read-objects.ts";
import { PackageInstallError } from "./install-error.ts";

/** A server lists a kind within a second; the role of the controller may lack it. */
const LIST_MS = 30_000;

/** What ImageConfigs say of an image. */
export interface ImageSettings {
  /** The image to pull: with another prefix if an ImageConfig rewrites it. */
  readonly image: string;
  /** The name of a pull secret in the controller's namespace. */
  readonly pullSecret: string | undefined;
  /** The ImageConfig that requires a signature of the image, with its `spec.verification`. */
  readonly verification: { readonly config: string; readonly spec: JsonObject } | undefined;
  /** The ImageConfig that selects a DeploymentRuntimeConfig for the runtime of the image, with its `configRef`. */
  readonly runtime: { readonly config: string; readonly configRef: JsonObject } | undefined;
  /** `status.appliedImageConfigRefs`; null if there are none. */
  readonly applied: JsonObject[] | null;
}

/**
 * Waits for the first list of ImageConfigs. Without it, a package would be installed without the signature that one
 * requires, or from another place.
 *
 * @throws {PackageInstallError} `Unavailable`
 */
export async function whenConfigsListed(
  { informers, functionPackages = false }: Pick<Context, "informers" | "functionPackages">,
  signal: AbortSignal,
): Promise<void> {
  if (!functionPackages || informers.peek(IMAGE_CONFIGS) !== undefined) return;
  const { informer, release } = informers.acquire(IMAGE_CONFIGS);
  try {
    await informer.whenSynced(AbortSignal.any([signal, AbortSignal.timeout(LIST_MS)]));
  } catch (cause) {
    signal.throwIfAborted();
    const message = "cannot list ImageConfigs, which may require a signature; check the role of the controller";
    throw new PackageInstallError("Unavailable", message, { cause, retryable: true });
  } finally {
    release();
  }
}

/**
 * Finds the ImageConfigs of an image (https://docs.crossplane.io/latest/packages/image-configs/): of each setting the
 * one with the longest prefix, and of two such the first by name. The pull secret is that of the rewritten image.
 */
export function imageSettings({ informers }: Pick<Context, "informers">, image: string): ImageSettings {
  const configs = (informers.peek(IMAGE_CONFIGS)?.list() ?? []).toSorted((a, b) =>
    a.metadata.name < b.metadata.name ? -1 : 1,
  );
  const applied: JsonObject[] = [];
  const rewrite = bestMatch(configs, image, rewritePrefix);
  let pulled = image;
  if (rewrite !== undefined) {
    pulled = `${rewritePrefix(rewrite.config) ?? ""}${image.slice(rewrite.length)}`;
    applied.push({ name: rewrite.config.metadata.name, reason: "RewriteImage" });
  }
  const secret = bestMatch(configs, pulled, secretName);
  if (secret !== undefined) applied.push({ name: secret.config.metadata.name, reason: "SetImagePullSecret" });
  const verified = bestMatch(configs, image, verifies) ?? bestMatch(configs, pulled, verifies);
  const runtime = bestMatch(configs, image, runtimeConfigName) ?? bestMatch(configs, pulled, runtimeConfigName);
  return {
    image: pulled,
    pullSecret: secret && secretName(secret.config),
    verification: verified && {
      config: verified.config.metadata.name,
      spec: objectAt(verified.config, "spec", "verification"),
    },
    runtime: runtime && {
      config: runtime.config.metadata.name,
      configRef: objectAt(runtime.config, "spec", "runtime", "configRef"),
    },
    applied: applied.length === 0 ? null : applied,
  };
}

function rewritePrefix(config: LiveObject): string | undefined {
  return textAt(config, "spec", "rewriteImage", "prefix");
}

function secretName(config: LiveObject): string | undefined {
  return textAt(config, "spec", "registry", "authentication", "pullSecretRef", "name");
}

function runtimeConfigName(config: LiveObject): string | undefined {
  return textAt(config, "spec", "runtime", "configRef", "name");
}

function verifies(config: LiveObject): string | undefined {
  return objectAt(config, "spec")["verification"] === undefined ? undefined : config.metadata.name;
}

function bestMatch(
  configs: readonly LiveObject[],
  image: string,
  setting: (config: LiveObject) => string | undefined,
): { readonly config: LiveObject; readonly length: number } | undefined {
  let best: { readonly config: LiveObject; readonly length: number } | undefined;
  for (const config of configs) {
    if (setting(config) === undefined) continue;
    const length = matchLength(config, image);
    if (length > (best?.length ?? 0)) best = { config, length };
  }
  return best;
}

/** The length of the longest prefix of a config that the image has; 0 if it has none. */
function matchLength(config: LiveObject, image: string): number {
  const { matchImages } = objectAt(config, "spec");
  const prefixes = (Array.isArray(matchImages) ? matchImages : [])
    .filter(isObject)
    .map((one) => textAt(one, "prefix") ?? "");
  return Math.max(0, ...prefixes.filter((prefix) => image.startsWith(prefix)).map(({ length }) => length));
}
