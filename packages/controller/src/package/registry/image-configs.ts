import { isObject, type JsonObject } from "@xfn/functionio";
import type { LiveObject } from "@xfn/kubernetes";
import type { Context } from "../../objects/context.ts";
import { IMAGE_CONFIGS } from "../../objects/kinds.ts";
import { objectAt, textAt } from "../../objects/read-objects.ts";

/** What ImageConfigs say of an image. */
export interface ImageSettings {
  /** The image to pull: with another prefix if an ImageConfig rewrites it. */
  readonly image: string;
  /** The name of a pull secret in the controller's namespace. */
  readonly pullSecret: string | undefined;
  /** The ImageConfig that requires a signature of the image. */
  readonly verifiedBy: string | undefined;
  /** `status.appliedImageConfigRefs`; null if there are none. */
  readonly applied: JsonObject[] | null;
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
  return {
    image: pulled,
    pullSecret: secret && secretName(secret.config),
    verifiedBy: (bestMatch(configs, image, verification) ?? bestMatch(configs, pulled, verification))?.config.metadata
      .name,
    applied: applied.length === 0 ? null : applied,
  };
}

function rewritePrefix(config: LiveObject): string | undefined {
  return textAt(config, "spec", "rewriteImage", "prefix");
}

function secretName(config: LiveObject): string | undefined {
  return textAt(config, "spec", "registry", "authentication", "pullSecretRef", "name");
}

function verification(config: LiveObject): string | undefined {
  return objectAt(config, "spec")["verification"] === undefined ? undefined : config.metadata.name;
}

/** Why an image that an ImageConfig wants verified is not used: the controller verifies no signatures. */
export function unverified(image: string, config: string): string {
  return (
    `the ImageConfig ${config} requires a signature of ${image}, and xfn-controller verifies none; verify the image ` +
    "yourself, and remove spec.verification or the prefix"
  );
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
