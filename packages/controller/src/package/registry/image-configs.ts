import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { type Reference, tryParseImageName } from "@xfn/oci-rootfs/image-name";
import { afterPrefix, type ImagePrefix, parseImagePrefix } from "@xfn/oci-rootfs/image-prefix";
import { IMAGE_CONFIGS } from "../../objects/kinds.ts";
import { PackageInstallError } from "./install-error.ts";
import type { RegistryAccess } from "./registry-access.ts";

/** The time for the first list. A server needs less than a second, but the controller's role may lack the kind. */
const LIST_MS = 30_000;

/** The settings of ImageConfigs for an image. */
export interface ImageSettings {
  /** The image to pull. It has another prefix if an ImageConfig rewrites it. */
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
 * Waits for the first list of ImageConfigs. Without it, a package could be installed without a required signature, or
 * from the wrong location.
 *
 * @throws {PackageInstallError} `Unavailable`
 */
export async function whenConfigsListed(
  { informers, functionPackages = false }: Pick<RegistryAccess, "informers" | "functionPackages">,
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
 * Finds the ImageConfigs of an image (https://docs.crossplane.io/latest/packages/image-configs/). For each setting, the
 * longest prefix wins, then the first name. The pull secret is that of the rewritten image.
 *
 * Only canonical names are matched, and the image to pull has a canonical name, so that no spelling of a name evades a
 * setting. A text that is not a valid reference, such as a layout, has no settings, and no registry has it.
 */
export function imageSettings({ informers }: Pick<RegistryAccess, "informers">, image: string): ImageSettings {
  const name = tryParseImageName(image);
  if (name?.kind !== "registry")
    return { image, pullSecret: undefined, verification: undefined, runtime: undefined, applied: null };
  const configs = (informers.peek(IMAGE_CONFIGS)?.list() ?? []).toSorted((a, b) =>
    a.metadata.name < b.metadata.name ? -1 : 1,
  );
  const applied: JsonObject[] = [];
  const rewrite = bestMatch(configs, name, rewritePrefix);
  let [text, pulled]: [string, Reference | undefined] = [withoutImpliedTag(name), name];
  if (rewrite !== undefined) {
    text = `${rewritePrefix(rewrite.config) ?? ""}${rewrite.rest}`;
    const rewritten = tryParseImageName(text);
    pulled = rewritten?.kind === "registry" ? rewritten : undefined;
    if (pulled !== undefined) text = withoutImpliedTag(pulled);
    applied.push({ name: rewrite.config.metadata.name, reason: "RewriteImage" });
  }
  const either = (setting: Setting): Match | undefined =>
    bestMatch(configs, name, setting) ?? bestMatch(configs, pulled, setting);
  const secret = bestMatch(configs, pulled, secretName);
  if (secret !== undefined) applied.push({ name: secret.config.metadata.name, reason: "SetImagePullSecret" });
  const verified = either(verifies);
  const runtime = either(runtimeConfigName);
  return {
    image: text,
    pullSecret: secret && secretName(secret.config),
    verification: verified && {
      config: verified.config.metadata.name,
      spec: IMAGE_CONFIGS.of(verified.config).spec.verification.toJSON(),
    },
    runtime: runtime && {
      config: runtime.config.metadata.name,
      configRef: IMAGE_CONFIGS.of(runtime.config).spec.runtime.configRef.toJSON(),
    },
    applied: applied.length === 0 ? null : applied,
  };
}

/** Omits an implied tag, because sources of dependencies have none. */
function withoutImpliedTag(image: Reference): string {
  return image.isTagImplied ? image.location : image.toString();
}

type Setting = (config: LiveObject) => string | undefined;

function rewritePrefix(config: LiveObject): string | undefined {
  return IMAGE_CONFIGS.of(config).spec.rewriteImage.prefix;
}

function secretName(config: LiveObject): string | undefined {
  return IMAGE_CONFIGS.of(config).spec.registry.authentication.pullSecretRef.name;
}

function runtimeConfigName(config: LiveObject): string | undefined {
  return IMAGE_CONFIGS.of(config).spec.runtime.configRef.name;
}

function verifies(config: LiveObject): string | undefined {
  return IMAGE_CONFIGS.of(config).spec.toJSON()["verification"] === undefined ? undefined : config.metadata.name;
}

/** An ImageConfig whose prefix matches an image. */
interface Match {
  readonly config: LiveObject;
  /** The rest of the image's name after the prefix. */
  readonly rest: string;
  readonly length: number;
}

function bestMatch(configs: readonly LiveObject[], image: Reference | undefined, setting: Setting): Match | undefined {
  let best: Match | undefined;
  for (const config of image === undefined ? [] : configs) {
    if (setting(config) === undefined) continue;
    for (const prefix of prefixesOf(config)) {
      const rest = image && afterPrefix(prefix, image);
      if (rest !== undefined && prefix.length > (best?.length ?? 0)) best = { config, rest, length: prefix.length };
    }
  }
  return best;
}

function prefixesOf(config: LiveObject): ImagePrefix[] {
  return IMAGE_CONFIGS.of(config).spec.matchImages.flatMap(({ prefix }) => parseImagePrefix(prefix ?? "") ?? []);
}
